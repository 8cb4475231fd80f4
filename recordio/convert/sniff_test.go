package convert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSniffAmbiguous detects the format of content under a name without an extension.
func TestSniffAmbiguous(t *testing.T) {
	const table, array = "it may be a table or lines of text: name the format, csv, tsv or text",
		"it begins as an array of JSON does: name the format jsonl if each line is a value; jq -c '.[]' makes lines of an array"
	const object = "it begins as an object of JSON over many lines: jq -c . makes one line of it, and jq -c '.images[]' a line of each item of a list inside"
	const blanks = "it may be a table with blanks between its columns, or lines of text: name the format csv and the delimiter space, or the format text"
	const workbook = "it is a workbook or document of an office program: save each sheet as CSV"
	const zip = "it is a zip archive: unpack it, or name the format npz if numpy wrote it"
	for _, c := range []struct{ head, format, err string }{
		{"a,b\n1,2\n3,4\n", "", table},
		{"a\tb\n1\t2\n", "", table},
		{"a;b\n1,5;2\n", "", table},
		{"a,b", "", table},
		{"n,t\n1,\"a, b\"\n2,c\n", "", table},
		{"a,b\n1,2\n3,4\n5,6,7\n", "", table},
		{"a|b\n1|2\n", "", table},
		{"0.1  18.0 24.0\n 0.2 0.0  21.6\n", "", blanks},
		{"1 1\n", "", blanks},
		{"1\n2\n", "text", ""},
		{"Shall I, he said,\ncompare thee\nto a summer's day, or not, or\nnever\n", "text", ""},
		{"+1 1:0.5 3:-2e1 # x\n-1 2:1\n", "libsvm", ""},
		{"1 qid:3 1:0.5\n", "libsvm", ""},
		{"12 14:30\nsee you\n", "text", ""},
		{"{\n  \"images\": [\n", "", object},
		{"{\"a\": 1,\r\n \"b\": 2}\n", "", object},
		{"{\"a\": {\n", "", object},
		{"{\"a\": 1", "jsonl", ""},
		{"PK\x03\x04....", "", zip},
		{"PK\x03\x04" + strings.Repeat(".", 26) + "[Content_Types].xml", "", workbook},
		{"PK\x03\x04" + strings.Repeat(".", 26) + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "", workbook},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", workbook},
		{" 1:0.5\n1,2 1:0.5 3:-2e1\n qid:1 2:1\n", "libsvm", ""},
		{"\x04\x03\x02\x01....", "", "it is RecordIO already: name the format recordio"},
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

// TestFormatsAgree gives inputs that each look like something of their own.
func TestFormatsAgree(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n"
	type file struct{ name, data string }
	for _, c := range []struct {
		name   string
		files  []file
		format string
		want   string
	}{
		{"two tables", []file{{"a.csv", "a\n1\n"}, {"b.csv", "a\n2\n"}}, "csv", ""},
		{"table and lines", []file{{"a.csv", "a\n1\n"}, {"b.jsonl", "{}\n"}}, "csv", "b.jsonl: it is jsonl, and a.csv is csv: all inputs are of one format"},
		{"text and lines", []file{{"a.txt", "a\n"}, {"b.jsonl", "{}\n"}}, "text", "b.jsonl: it is jsonl, and a.txt is text: all inputs are of one format"},
		{"table and what may be one", []file{{"a.csv", "a,b\n1,2\n"}, {"-", "a,b\n2,3\n"}}, "csv", "-: it may be a table or lines of text: name the format, csv, tsv or text"},
		{"nothing, then a table", []file{{"-", ""}, {"a.csv", "a\n1\n"}}, "csv", ""},
		{"a table, then nothing", []file{{"a.csv", "a\n1\n"}, {"_SUCCESS", ""}}, "csv", ""},
		{"nothing", []file{{"-", ""}}, "text", ""},
		{"an array, then nothing", []file{{"a.npy", string(npyWith("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", "\x05\x00\x00\x00"))}, {"_SUCCESS", ""}}, "npy", ""},
		{"images and text", []file{{"a", png}, {"b", "hello\n"}}, "images", "b: it is text, and a is images: all inputs are of one format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sources []Source
			for _, f := range c.files {
				sources = append(sources, memorySource(f.name, []byte(f.data)))
			}
			_, stats, err := payloads(t, Options{Bad: BadPolicy{Policy: Skip}}, sources...)
			if messageOf(err) != c.want || stats.Format != c.format {
				t.Errorf("format %s, %v; want %s, %s", stats.Format, err, c.format, c.want)
			}
			if c.want != "" && !errors.Is(err, ErrFormat) {
				t.Errorf("%v is no ErrFormat", err)
			}
		})
	}
}

// TestCompressionsUnread gives inputs with compressions that are not supported.
func TestCompressionsUnread(t *testing.T) {
	for name, head := range map[string]string{"bzip2": "BZh91AY&SY..", "xz": "\xfd7zXZ\x00..", "lz4": "\x04\x22\x4d\x18.."} {
		want := fmt.Sprintf("a.csv.x: it is compressed with %s, which is not supported: decompress it first, or pipe it: %s -dc FILE | ... -", name, name)
		if _, err := asJSON(t, Options{Format: "csv"}, "a.csv.x", head); messageOf(err) != want || !errors.Is(err, ErrUnsupported) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got, err := asJSON(t, Options{Format: "text"}, "a", "BZh, said he"); err != nil || len(got) != 1 {
		t.Errorf("text: got %q, %v", got, err)
	}
}

func TestFormatOfName(t *testing.T) {
	for name, want := range map[string]string{
		"a.csv": "csv", "a.CSV.gz": "csv", "a.tgz": "webdataset", "d/x.jpeg": "images", "README.md": "", "x": "", ".csv": "",
		"train-images-idx3-ubyte.gz": "mnist", "a.txt.zst": "text", "d/data_batch_5.bin": "cifar10", "Test_batch.bin.gz": "cifar10", "train.bin": "", "test_batch": "",
	} {
		got := ""
		if f := FormatOfName(name); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestElsewhere checks that files that only Python reads get an error that says how.
func TestElsewhere(t *testing.T) {
	zip := "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x10\x00\x00\x00archive/data.pkl"
	for head, want := range map[string]string{
		"\x89HDF\r\n\x1a\n...": "HDF5", zip: "PyTorch", "\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":": "safetensors", "FEA1....": "Feather",
	} {
		_, err := Sniff([]byte(head), "x.feather") // whatever its name
		if !errors.Is(err, ErrFormat) || !strings.Contains(fmt.Sprint(err), want) || !strings.Contains(fmt.Sprint(err), "import ") {
			t.Errorf("%q: %v, want %s", head, err, want)
		}
	}
}
