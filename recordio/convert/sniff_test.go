package convert

import "testing"

// TestSniffAmbiguous looks at content without a name that says more.
func TestSniffAmbiguous(t *testing.T) {
	const table, array = "it may be a table or lines of text: name the format, csv, tsv or text",
		"it begins as an array of JSON does: name the format jsonl if each line is a value; jq -c '.[]' makes lines of an array"
	for _, c := range []struct{ head, format, err string }{
		{"a,b\n1,2\n3,4\n", "", table},
		{"a\tb\n1\t2\n", "", table},
		{"a;b\n1,5;2\n", "", table},
		{"a,b", "", table},
		{"Dear reader, hello.\nThis is text.\n", "text", ""},
		{"one\ntwo\n", "text", ""},
		{"", "text", ""},
		{"{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2}\n", "jsonl", ""},
		{"[{\"a\":1},{\"a\":2}]\n", "", array},
		{"\n [\n  {\"a\":1}\n]\n", "", array},
		{"[1,2]\n[3,4]\n", "", array},
		{"[x] done\n[ ] open\n", "text", ""},
	} {
		f, err := Sniff([]byte(c.head), "-")
		name := ""
		if f != nil {
			name = f.Name
		}
		if name != c.format || messageOf(err) != c.err {
			t.Errorf("%q: got %q, %v; want %q, %s", c.head, name, err, c.format, c.err)
		}
	}
	for name, want := range map[string]string{"a.csv": "csv", "a.txt": "text", "a.jsonl": "jsonl"} {
		if f, err := Sniff([]byte("a,b\n1,2\n"), name); err != nil || f.Name != want {
			t.Errorf("%s: got %v, %v", name, f, err)
		}
	}
}
