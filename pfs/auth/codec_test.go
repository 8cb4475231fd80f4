package auth

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	someHash = cheapHash + "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	someFile = `version: 1
accounts:
  - name: ann@example.org
    password: ` + someHash + `
    role: publisher
    hdfs_user: ann
    uid: 20000
    gid: 100
    generation: abc
    created: 2026-01-02T03:04:05Z
  - name: bob
    password: ` + someHash + `
    role: user
    hdfs_user: bob
    uid: 20001
    gid: 20001
    generation: def
    created: 2026-01-02T03:04:05Z
former:
  - name: eve
    hdfs_user: eve
    uid: 20002
    gid: 20002
`
)

func TestCodecRoundTrip(t *testing.T) {
	first, err := decode([]byte(someFile))
	if err != nil {
		t.Fatal(err)
	}
	data, err := first.encode()
	if err != nil {
		t.Fatal(err)
	}
	second, err := decode(data)
	if err != nil {
		t.Fatalf("%v in what was encoded:\n%s", err, data)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("got %+v, want %+v", second, first)
	}
	want := Account{
		Identity:   Identity{"ann@example.org", Publisher, "ann", 20000, 100},
		Generation: "abc", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if r, ok := second.find("ann@example.org"); !ok || r.account() != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	replace := func(from, to string) string { return strings.Replace(someFile, from, to, 1) }
	tests := []struct {
		why, file, message string
	}{
		{"empty", "", "empty"},
		{"only a comment", "# nothing\n", "empty"},
		{"a list", "- 1\n", "line 1"},
		{"no version", "accounts: []\n", "version 0"},
		{"version of the future", replace("version: 1", "version: 2"), "version 2"},
		{"unknown key", replace("role: publisher", "rôle: publisher"), "line 5"},
		{"unknown section", someFile + "groups: []\n", "line 24"},
		{"key twice", replace("    uid: 20000", "    uid: 20000\n    uid: 20009"), "line 8"},
		{"text for a number", replace("uid: 20000", "uid: many"), "line 7"},
		{"two documents", someFile + "---\nversion: 1\n", "more than one"},
		{"bad role", replace("role: user", "role: root"), "line 11"},
		{"bad name", replace("name: bob", "name: ../bob"), "line 11"},
		{"a name that stores have", replace("name: bob", "name: .snap"), "line 11"},
		{"no name", replace("name: bob", "name: ''"), "line 11"},
		{"bad HDFS user", replace("hdfs_user: bob", "hdfs_user: bob@REALM"), "line 11"},
		{"uid of root", replace("uid: 20001", "uid: 0"), "line 11"},
		{"negative gid", replace("gid: 20001", "gid: -5"), "line 11"},
		{"hash that costs 4 GiB", replace("m=64", "m=4194304"), "line 3"},
		{"password in plain text", replace(someHash, "hunter22"), "line 3"},
		{"no generation", replace("generation: def", "generation: ''"), "line 11"},
		{"same name", replace("name: bob", "name: ann@example.org"), "line 11"},
		{"like name", replace("name: bob", "name: ANN@example.org"), "line 11"},
		{"same uid", replace("uid: 20001", "uid: 20000"), "line 11"},
		{"same HDFS user", replace("hdfs_user: bob", "hdfs_user: Ann"), "line 11"},
		{"uid of a former account", replace("uid: 20001", "uid: 20002"), "line 20"},
		{"bomb", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "line 1"},
	}
	for _, tt := range tests {
		_, err := decode([]byte(tt.file))
		if err == nil {
			t.Errorf("%s: no error", tt.why)
		} else if !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: error %q does not contain %q", tt.why, err, tt.message)
		} else if strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: error %q tells a password", tt.why, err)
		}
	}
}

// A decoded text is the same after encoding, and decode fails only with an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(someFile))
	f.Add([]byte("version: 1\n"))
	f.Add([]byte("version: 1\naccounts:\n  - &a {name: x}\n  - *a\n"))
	f.Add([]byte("version: 1\naccounts: !!map {<<: {}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := decode(data)
		if err != nil {
			return
		}
		encoded, err := first.encode()
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		second, err := decode(encoded)
		if err != nil {
			t.Fatalf("decode of what was encoded: %v\n%s", err, encoded)
		}
		again, err := second.encode()
		if err != nil || !bytes.Equal(encoded, again) {
			t.Fatalf("encoded twice: %v\n%s\n%s", err, encoded, again)
		}
	})
}
