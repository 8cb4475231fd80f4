package convert

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	got, err := asJSON(t, Options{}, "a.txt", "one\r\n\n two \nlast")
	if want := []string{`"one"`, `""`, `" two "`, `"last"`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	_, err = asJSON(t, Options{}, "a.txt", "one\nt\xe9o\n")
	const want = `a.txt, line 2, offset 4: not UTF-8: byte 0xe9 at position 2 of "t\xe9o"; name its encoding, such as latin1; the payload raw takes any bytes`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "text", "rights.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := payloads(t, Options{Encoding: "raw"}, memorySource("rights.txt", data))
	if err != nil || strings.Join(lines, "\n")+"\n" != string(data) {
		t.Errorf("%d lines of text, %v", len(lines), err)
	}
}

// TestRawLines counts the records of the payload raw: as many as any other payload has.
func TestRawLines(t *testing.T) {
	for _, c := range []struct {
		name, data string
		opts       Options
		want       []string
	}{
		{"a.txt", "a\n\nb\n\n\nc\n", Options{}, []string{"a", "", "b", "", "", "c"}},
		{"a.txt", "\n", Options{}, []string{""}},
		{"a.txt", "\r\n \r\n", Options{}, []string{"", " "}},
		{"a.jsonl", "1\n\n \t\n2\n", Options{}, []string{"1", "2"}},
		{"a.csv", "h\na\n\n \nb\n", Options{}, []string{"a", " ", "b"}},
		{"a.csv", "h\na\n \t\nb\n", Options{CSV: CSVOptions{Comma: ' '}}, []string{"a", "b"}},
		{"a.svm", "1 1:1\n# nothing\n\n2 # x\n", Options{}, []string{"1 1:1", "2 # x"}},
	} {
		other, _, err := payloads(t, c.opts, memorySource(c.name, []byte(c.data)))
		if err != nil || len(other) != len(c.want) {
			t.Errorf("%s %q: %d records as msgpack, %v; want %d", c.name, c.data, len(other), err, len(c.want))
		}
		c.opts.Encoding = "raw"
		if got, _, err := payloads(t, c.opts, memorySource(c.name, []byte(c.data))); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %q: got %q, %v; want %q", c.name, c.data, got, err, c.want)
		}
	}
}

func TestLIBSVM(t *testing.T) {
	const data = "+1 1:0.5 3:-2e1 10:7 # a comment\n\n# nothing else\n-1\n2,5 1:1\n0.5 qid:7 2:3\r\n 1:4\n\tqid:2 1:5\n 3 1:6"
	want := []string{
		`{"label":1,"index":[1,3,10],"value":[0.5,-20.0,7.0]}`,
		`{"label":-1,"index":[],"value":[]}`,
		`{"label":[2,5],"index":[1],"value":[1.0]}`,
		`{"label":0.5,"qid":7,"index":[2],"value":[3.0]}`,
		`{"label":[],"index":[1],"value":[4.0]}`,
		`{"label":[],"qid":2,"index":[1],"value":[5.0]}`,
		`{"label":3,"index":[1],"value":[6.0]}`,
	}
	got, err := asJSON(t, Options{}, "a.libsvm", data)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	for line, want := range map[string]string{
		"1:2":       `the label "1:2" is not a number`,
		"x 1:2":     `the label "x" is not a number`,
		"1, 1:2":    `the label "" is not a number`,
		"1 1":       `"1" is not index:value`,
		"1 a:2":     `"a:2" is not index:value`,
		"1 1:":      `"1:" is not index:value`,
		"1 2:1 2:3": "index 2 comes after 2: they must grow",
		"1 -1:1":    "index -1 comes after -1: they must grow",
		"1 qid:x":   `qid "x" is not an integer`,
	} {
		_, err := asJSON(t, Options{}, "a.libsvm", line)
		if want = "a.libsvm, line 1, offset 0: " + want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

func FuzzLIBSVM(f *testing.F) {
	f.Add([]byte("+1 1:0.5 3:-2e1 # x\n2,5 qid:1 1:1\n"))
	f.Fuzz(func(t *testing.T, data []byte) { checkRun(t, Options{Format: "libsvm"}, data) })
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\r\n\n\xffb"))
	f.Fuzz(func(t *testing.T, data []byte) { checkRun(t, Options{Format: "text"}, data) })
}

func TestSniff(t *testing.T) {
	for _, c := range []struct{ head, name, want string }{
		{"a,b\n", "x.csv", "csv"},
		{"a,b\n", "X.CSV", "csv"},
		{"a,b\n", "x.tsv", "tsv"},
		{"{\"a\": 1}\n", "x.jsonl", "jsonl"},
		{"{\"a\": 1}\n", "x", "jsonl"},
		{" { }\n", "x", "jsonl"},
		{"{a}\n", "x", "text"},
		{"hello\n", "x", "text"},
		{"h\xc3", "x", "text"}, // cut in the middle of a character
		{"", "x", "text"},
		{"\x89PNG\r\n\x1a\n", "x.csv", "images"},
		{"1 2:3\n", "x.svm", "libsvm"},
		{"\x00", "x", ""},
		{"\xffabc", "x", ""},
	} {
		f, err := Sniff([]byte(c.head), c.name)
		if c.want == "" {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%q, %s: got %v", c.head, c.name, err)
			}
		} else if err != nil || f.Name != c.want {
			t.Errorf("%q, %s: got %v, %v; want %s", c.head, c.name, f, err, c.want)
		}
	}
}

// Names are unique and every format can be opened in one way.
func TestFormats(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats {
		if f.Name == "" || f.Doc == "" || seen[f.Name] || (f.open == nil) == (f.lines == nil) {
			t.Errorf("format %+v", f)
		}
		seen[f.Name] = true
		for _, ext := range f.Extensions {
			if seen[ext] || ext != strings.ToLower(ext) {
				t.Errorf("%s: extension %q", f.Name, ext)
			}
			seen[ext] = true
		}
	}
}
