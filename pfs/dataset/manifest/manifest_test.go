package manifest

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

const digestOfNothing = "blake3:0000000000000000000000000000000000000000000000000000000000000000"

func housing() *Manifest {
	m := &Manifest{
		Format: Format, Version: Version, Name: "housing", Payload: "msgpack", Of: "count", Source: "csv",
		Inputs:  []Input{{Path: "a & <b>.csv", Files: 1, Bytes: 17}},
		Options: []string{"--line-count=10"},
		Columns: []Column{{Name: "CRIM", Type: "float"}},
		Shards: []Shard{
			{"housing-00000-of-00002", 10, 100, 150, digestOfNothing},
			{"housing-00001-of-00002", 3, 30, 50, digestOfNothing},
		},
	}
	m.Sum()
	return m
}

func text(t *testing.T) []byte {
	t.Helper()
	b, err := Encode(housing())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGolden checks that manifests of earlier programs stay readable.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/housing.manifest")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t); !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	m, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if m.Records != 13 || m.RecordBytes != 130 || m.Bytes != 200 || strings.Join(m.Names(), " ") != "housing-00000-of-00002 housing-00001-of-00002" {
		t.Errorf("got %+v", m)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"version", `"version": 1`, `"version": 2`, "version 2; this program knows version 1"},
		{"format", Format, "parquet", `format "parquet"`},
		{"unknown key", `"bad": 0,`, `"bad": 0, "x": 1,`, "line"},
		{"key twice", `"bad": 0,`, `"bad": 0, "bad": 0,`, "line"},
		{"key in capitals", `"bad"`, `"BAD"`, "line"},
		{"number in another form", `"bad": 0`, `"bad": 0.0`, "malformed"},
		{"trailing bytes", "}\n", "}\n\n", "line"},
		{"cut off", "]\n}\n", "", "malformed"},
		{"sum", `"records": 13`, `"records": 14`, "it states 14 records"},
		{"order", "00000-of", "00009-of", "follows"},
		{"slash", "housing-00000", "housing/../00000", "slash"},
		{"dot", `"name": "housing"`, `"name": ".housing"`, "begins with a dot"},
		{"of another set", `"name": "housing-00000`, `"name": "Housing-00000`, "does not begin with"},
		{"digest", "blake3:00", "blake3:0x", "not a BLAKE3 digest"},
		{"negative", `"records": 3`, `"records": -3`, "negative"},
		{"more than 2^63", `"bytes": 150`, `"bytes": 9223372036854775800`, "2^63"},
		{"of", `"of": "count"`, `"of": "all"`, "count or last"},
		{"bad", `"bad": 0`, `"bad": -1`, "bad records"},
		{"input", `"files": 1`, `"files": -1`, "negative"},
	}
	good := string(text(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spoilt := strings.Replace(good, tt.old, tt.new, 1)
			if spoilt == good {
				t.Fatalf("no %q in the manifest", tt.old)
			}
			_, err := Decode([]byte(spoilt))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNotUTF8 checks that only readable manifests are written.
func TestNotUTF8(t *testing.T) {
	const latin = "caf\xe9"
	for name, spoil := range map[string]func(m *Manifest){
		"payload": func(m *Manifest) { m.Payload = latin },
		"source":  func(m *Manifest) { m.Source = latin },
		"option":  func(m *Manifest) { m.Options[0] = latin },
		"note":    func(m *Manifest) { m.Notes = []string{latin} },
		"class":   func(m *Manifest) { m.Classes = []string{latin} },
		"input":   func(m *Manifest) { m.Inputs[0].Path = latin },
		"column":  func(m *Manifest) { m.Columns[0].Name = latin },
		"type":    func(m *Manifest) { m.Columns[0].Type = latin },
	} {
		m := housing()
		spoil(m)
		if text, err := Encode(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v; Decode would answer %v", name, err, func() error { _, err := Decode(text); return err }())
		}
	}
}

func TestTooLarge(t *testing.T) {
	endless := strings.NewReader(strings.Repeat(" ", MaxBytes+2))
	if _, err := Read(endless); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
	if endless.Len() == 0 {
		t.Error("all of it was read")
	}
}

func TestNames(t *testing.T) {
	if got := FileName("train"); got != ".train.manifest" {
		t.Errorf("FileName = %q", got)
	}
	for file, want := range map[string]string{
		".train.manifest": "train", "..manifest": "", ".manifest": "", "train.manifest": "", ".a.b.manifest": "a.b", ".a.idx": "",
	} {
		if got, ok := DatasetOf(file); got != want || ok != (want != "") {
			t.Errorf("DatasetOf(%q) = %q, %v; want %q", file, got, ok, want)
		}
	}
	for _, name := range []string{"", ".x", "a/b", "a\nb", "\xff", `a\b`} {
		if CheckName(name) == "" {
			t.Errorf("CheckName(%q): accepted", name)
		}
	}
}

// FuzzDecode checks that encoding a decoded manifest gives exactly its text.
func FuzzDecode(f *testing.F) {
	b, err := Encode(housing())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":"paddle-dataset","version":1}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("got %v, want ErrMalformed", err)
			}
			return
		}
		again, err := Encode(m)
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("written again: %v\n%s", err, again)
		}
	})
}
