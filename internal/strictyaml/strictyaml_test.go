package strictyaml

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"go.yaml.in/yaml/v3"
)

const file = File("f.yaml")

// read reads a mapping of texts with the keys one and two.
func read(data []byte) (map[string]string, error) {
	got := map[string]string{}
	root, err := file.Parse(data, "keys")
	if root == nil || err != nil {
		return got, err
	}
	err = file.EachPair(root.Content[0], []string{"one", "two"}, func(key string, v *yaml.Node) (err error) {
		got[key], err = file.Text(key, v)
		return err
	})
	return got, err
}

func TestRead(t *testing.T) {
	tests := []struct {
		text, one string
		says      string // of the error; empty for none
	}{
		{"one: 007\n", "007", ""},
		{"one: 'a: b'\ntwo:\n", "a: b", ""},
		{"# nothing\n", "", ""},
		{"", "", ""},
		{"one: 1\none: 2\n", "", `f.yaml:2: "one" again, it is on line 1 already`},
		{"tow: 1\n", "", `f.yaml:1: unknown key "tow": did you mean "two"?`},
		{"quite-else: 1\n", "", `f.yaml:1: unknown key "quite-else": the keys here are one, two`},
		{"one: [a]\n", "", "f.yaml:1: one: a text is needed, and square brackets make a list"},
		{"one:\n  two: a\n", "", "f.yaml:2: one: a text is needed, not a mapping"},
		{"- one\n", "", "f.yaml:1: a list where keys belong"},
		{"one: 1\n---\ntwo: 2\n", "", "second YAML document"},
		{"[a]: 1\n", "", "f.yaml:1: a list where a key belongs"},
		{"tow: 1\none: [a]\nthree: 1\n", "", `f.yaml:1: unknown key "tow": did you mean "two"?; f.yaml:2: one: a text is needed`},
		{"tow: 1\none: [a]\nthree: 1\n", "", `; f.yaml:3: unknown key "three": the keys here are one, two`},
		{"one: 1\n\tx\n", "", "f.yaml:2: a tab indents this line: YAML allows only spaces there"},
		{"one:\n\t- 1\n", "", "f.yaml:2: a tab indents this line"},
		{"one:\n  a: 1\n \tb: 1\n", "", "f.yaml:3: a tab indents this line"},
		{"one: @\tx\n", "", "f.yaml:1: found character that cannot start any token"},
		{"two: 1\none:1\nthree: 1\n", "", "f.yaml:2: a key and its value are needed, with a colon and a space between them"},
		{"one: 1\ntwo:\n  a:\n    b: 1\n  c:\n    d: {e: 1,\n      f: 2}\n   g: 1\n\nh: 1\n", "", "f.yaml:8: did not find expected key"},
		{"one:\n  a: {b: 1\n  c: {d: 1}\ntwo: 1\n", "", "f.yaml:2: did not find expected ',' or '}'"},
		{"one: 1\ntwo: {a: 1}}\n", "", "f.yaml:2: did not find expected"},
		{"one: 1\n\n# \xff\n", "", "f.yaml:3: "},
	}
	for _, tt := range tests {
		got, err := read([]byte(tt.text))
		switch {
		case tt.says == "" && (err != nil || got["one"] != tt.one):
			t.Errorf("%q: %v, %v", tt.text, got, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || pfs.KindOf(err) != pfs.Invalid):
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.says)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("one: 1\ntwo: [a]\n"))
	f.Add([]byte("&a one: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
	})
}
