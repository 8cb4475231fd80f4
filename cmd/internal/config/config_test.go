package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// The files of the two documents, with values filled in.
const (
	oldFormat = `datacenters:
- name: datacenter1
  active: true
  username: alice@example.org
  password: 012345
  endpoint: http://cloud.paddlepaddle.org/
`
	newFormat = `datacenters:
- name: datacenter1
  username: alice@example.org
  password: 012345
  endpoint: http://cloud.paddlepaddle.org
current-datacenter: datacenter1
`
)

func TestBothFormats(t *testing.T) {
	for _, text := range []string{oldFormat, newFormat, "\ufeff" + newFormat, strings.ReplaceAll(newFormat, "\n", "\r\n")} {
		f, err := Parse("config", []byte(text))
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		got, err := f.Current()
		if err != nil {
			t.Fatalf("Current of %q: %v", text, err)
		}
		want := Entry{
			Name: "datacenter1", Username: "alice@example.org", Password: "012345",
			Endpoint: "http://cloud.paddlepaddle.org", Active: got.Active, Line: 2,
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// entry makes one entry of a file.
func entry(name, more string) string {
	return fmt.Sprintf("- name: %s\n  endpoint: https://%s.example.org\n%s", name, name, more)
}

func TestCurrent(t *testing.T) {
	const active = "  active: true\n"
	tests := []struct {
		name, text, want, wantErr string
	}{
		{"one entry, nothing said", entry("a", ""), "a", ""},
		{"active", entry("a", "") + entry("b", active), "b", ""},
		{"current", entry("a", "") + entry("b", "") + "current-datacenter: b\n", "b", ""},
		{"both the same", entry("a", active) + entry("b", "") + "current-datacenter: a\n", "a", ""},
		{"active: false", entry("a", "  active: false\n") + entry("b", active), "b", ""},
		{"both different", entry("a", active) + entry("b", "") + "current-datacenter: b\n", "", `current-datacenter is "b", but "a" (line 2) is active`},
		{"two active", entry("a", active) + entry("b", active), "", `two datacenters are active, "a" (line 2) and "b" (line 5)`},
		{"unknown", entry("alpha", "") + entry("b", "") + "current-datacenter: alhpa\n", "", `there is no datacenter "alhpa": did you mean "alpha"?`},
		{"unknown, none near", entry("alpha", "") + entry("b", "") + "current-datacenter: zzz\n", "", `there is no datacenter "zzz", only alpha, b`},
		{"nothing said of two", entry("a", "") + entry("b", ""), "", "none of the datacenters a, b is the current one"},
		{"empty current", entry("a", "") + "current-datacenter:\n", "a", ""},
		{"current is disabled", entry("a", "  usrname: x\n") + entry("b", "") + "current-datacenter: a\n", "", `unknown key "usrname": did you mean "username"?`},
		{"other is disabled", entry("a", "  usrname: x\n") + entry("b", "") + "current-datacenter: b\n", "b", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse("config", []byte("datacenters:\n"+tt.text))
			if err != nil {
				t.Fatal(err)
			}
			e, err := f.Current()
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || pfs.KindOf(err) != pfs.Invalid {
					t.Errorf("Current = %v, want an error of Kind Invalid with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || e.Name != tt.want {
				t.Errorf("Current = %q, %v; want %q", e.Name, err, tt.want)
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	f, err := Load(filepath.Join(t.TempDir(), "config"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Current(); pfs.KindOf(err) != pfs.Unauthenticated || !strings.Contains(err.Error(), f.Name) {
		t.Errorf("Current = %v, want Unauthenticated and the name of the file", err)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "datacenters:\n- name: \"x\n", "config:2: "},
		{"tab", "datacenters:\n\t- name: x\n", "config:2: "},
		{"no mapping", "hello\n", "config:1: a single value where"},
		{"list", "- a\n", "config:1: a list where"},
		{"unknown key", "datacentres: []\n", `config:1: unknown key "datacentres": did you mean "datacenters"?`},
		{"far key", "x: 1\n", `config:1: unknown key "x": the keys here are datacenters, current-datacenter`},
		{"double key", "datacenters: []\ndatacenters: []\n", `config:2: "datacenters" again, it is on line 1 already`},
		{"entries no list", "datacenters: {name: a}\n", "config:1: datacenters: a mapping where a list"},
		{"current a list", "current-datacenter: [a]\n", "config:1: current-datacenter: a text is needed"},
		{"two documents", "datacenters: []\n---\na: b\n", "config:2: a second YAML document"},
		{"alias", "datacenters: &x []\ncurrent-datacenter: *x\n", "config:2: current-datacenter: a text is needed, not an alias"},
		{"complex key", "? [a]\n: b\n", "config:1: a list where a key belongs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("config", []byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || pfs.KindOf(err) != pfs.Invalid {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestInvalidEntryDisablesOnlyItself(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"bad address", "- name: x\n  endpoint: 'https://'\n", "config:2: datacenter \"x\": endpoint: "},
		{"no address", "- name: x\n", "the address of the service is missing"},
		{"other scheme", "- name: x\n  endpoint: ftp://h\n", "is not an address like"},
		{"password in address", "- name: x\n  endpoint: https://u:secret@h\n", "paddlectl login asks for them"},
		{"no name", "- endpoint: https://h\n", "an entry needs a name"},
		{"name with a slash", "- name: a/b\n  endpoint: https://h\n", "slash in a name"},
		{"reserved name", "- name: public\n  endpoint: https://h\n", "has a meaning of its own"},
		{"placeholder", "- name: x\n  username: [your user name]\n  endpoint: https://h\n", "config:3: username: a text is needed, and square brackets make a list"},
		{"mapping", "- name: x\n  password: {a: b}\n  endpoint: https://h\n", "config:3: password: a text is needed, not a mapping"},
		{"not a bool", "- name: x\n  active: maybe\n  endpoint: https://h\n", "config:3: active: true or false is needed"},
		{"fingerprint", "- name: x\n  fingerprint: 12ab\n  endpoint: https://h\n", "is not a SHA-256: 64"},
		{"no mapping", "- x\n", "config:2: a single value where an entry"},
		{"same name", "- name: x\n  endpoint: https://h\n- name: x\n  endpoint: https://h\n", "a second datacenter \"x\" is on line 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse("config", []byte("datacenters:\n"+tt.text+entry("good", "")))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Entries[0].Err; got == nil || !strings.Contains(got.Error(), tt.want) {
				t.Errorf("entry 0: %v, want %q", got, tt.want)
			}
			if got := f.Entries[0].Err; strings.Contains(fmt.Sprint(got), "secret") {
				t.Errorf("the message repeats a password: %v", got)
			}
			if e, ok := f.Find("good"); !ok || e.Err != nil {
				t.Errorf("the good entry: %v, %v", ok, e.Err)
			}
		})
	}
}

func TestParseEndpoint(t *testing.T) {
	tests := []struct{ in, want string }{
		{"http://cloud.paddlepaddle.org", "http://cloud.paddlepaddle.org"},
		{"https://h:8443//", "https://h:8443"},
		{"h:8443", "https://h:8443"},
		{"https://h/pfs/", "https://h/pfs"},
		{"https://[::1]:80", "https://[::1]:80"},
		{"https://h?x=1", ""},
		{"https://h:port", ""},
		{"file:///etc", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got, err := ParseEndpoint(tt.in)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("ParseEndpoint(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	name := filepath.Join(t.TempDir(), "config")
	write := func(text string, mode os.FileMode) []string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		f, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.Warnings
	}
	if got := write(newFormat, 0o644); len(got) != 1 || !strings.Contains(got[0], "chmod 600") {
		t.Errorf("mode 0644 with a password: %q, want one warning", got)
	}
	if got := write(newFormat, 0o600); len(got) != 0 {
		t.Errorf("mode 0600: %q, want none", got)
	}
	if got := write("datacenters:\n"+entry("a", ""), 0o644); len(got) != 0 {
		t.Errorf("no password: %q, want none", got)
	}
	if got := write("datacenters:\n"+entry("a", "  usercert: c\n"), 0o600); len(got) != 1 {
		t.Errorf("usercert: %q, want one warning", got)
	}
}

func TestEditKeepsCommentsAndOrder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sub", "config")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	const before = `# my datacenters
current-datacenter: one # the big one
datacenters:
  # in the basement
  - endpoint: https://one.example.org
    name: one
    password: "a b" # secret
  - name: two
    endpoint: https://two.example.org
`
	if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Edit(name, func(f *File) error {
		e, _ := f.Find("one")
		e.Username = "true" // a text that looks like something else
		if err := f.Put(e); err != nil {
			return err
		}
		if err := f.Put(Entry{Name: "three", Endpoint: "https://three.example.org", Insecure: true}); err != nil {
			return err
		}
		return f.SetCurrent("two")
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# my datacenters
current-datacenter: two # the big one
datacenters:
  # in the basement
  - endpoint: https://one.example.org
    name: one
    password: a b # secret
    username: "true"
  - name: two
    endpoint: https://two.example.org
  - name: three
    endpoint: https://three.example.org
    insecure: true
`
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("got %v:\n%s\nwant:\n%s", err, got, want)
	}
	if info, err := os.Stat(name); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("mode = %v, %v; want 0600", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(left) != 2 {
		t.Errorf("folder holds %v, %v; want the file and its lock", left, err)
	}
}

func TestSetCurrent(t *testing.T) {
	two := "datacenters:\n" + entry("a", "  active: true\n") + entry("b", "  active: true\n")
	tests := []struct{ name, text string }{
		{"two active", two},
		{"contradiction", strings.Replace(two, "active: true", "active: false", 1) + "current-datacenter: a\n"},
		{"new format", "datacenters:\n" + entry("a", "") + entry("b", "") + "current-datacenter: a\n"},
		{"nothing said", "datacenters:\n" + entry("a", "") + entry("b", "")},
		{"unknown", "datacenters:\n" + entry("a", "") + entry("b", "") + "current-datacenter: z\n"},
	}
	for _, tt := range tests {
		f, err := Parse("config", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetCurrent("b"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if e, err := f.Current(); err != nil || e.Name != "b" {
			t.Errorf("%s: current = %q, %v; want b", tt.name, e.Name, err)
		}
		if err := f.SetCurrent("bb"); pfs.KindOf(err) != pfs.NotExist || !strings.Contains(err.Error(), `did you mean "b"`) {
			t.Errorf("%s: unknown name: %v", tt.name, err)
		}
	}
}

func TestEditWritesNothingAfterAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	const text = "datacenters: [\n" // not YAML: must not be overwritten
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Edit(name, func(*File) error { return nil }); err == nil {
		t.Error("no error for a file that cannot be read")
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is now %q", got)
	}
	missing := filepath.Join(t.TempDir(), "config")
	refuse := errors.New("no")
	if err := Edit(missing, func(*File) error { return refuse }); err != refuse {
		t.Errorf("Edit = %v, want %v", err, refuse)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

func TestEditThroughALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "config")
	if err := os.WriteFile(real, []byte(newFormat), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	err := Edit(link, func(f *File) error { return f.Put(Entry{Name: "n", Endpoint: "https://n"}) })
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if got, _ := os.ReadFile(real); !strings.Contains(string(got), "https://n") {
		t.Errorf("the file was not changed: %s", got)
	}
}

func TestPath(t *testing.T) {
	env := map[string]string{"HOME": "/h", "USERPROFILE": `C:\Users\h`}
	get := func(k string) string { return env[k] }
	want := filepath.Join("/h", ".paddle", "config")
	if runtime.GOOS == "windows" {
		want = `C:\Users\h\.paddle\config`
	}
	if got, err := Path(get); err != nil || got != want {
		t.Errorf("Path = %q, %v; want %q", got, err, want)
	}
	env["PADDLE_CONFIG"] = "/x/c"
	if got, err := Path(get); err != nil || got != "/x/c" {
		t.Errorf("Path = %q, %v; want /x/c", got, err)
	}
	if _, err := Path(func(string) string { return "" }); pfs.KindOf(err) != pfs.Invalid {
		t.Errorf("without a home: %v, want Invalid", err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(oldFormat))
	f.Add([]byte(newFormat))
	f.Add([]byte("datacenters:\n" + entry("a", "  active: yes\n  insecure: true\n") + entry("b", "")))
	f.Add([]byte("? a\n: b\n--- !!x\n[{&a *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("config", data)
		if err != nil {
			if pfs.KindOf(err) != pfs.Invalid {
				t.Errorf("error of Kind %v: %v", pfs.KindOf(err), err)
			}
			return
		}
		added := Entry{Name: "added-by-the-test", Username: "u: [", Endpoint: "https://h"}
		if slices.Contains(file.Names(), added.Name) {
			return
		}
		before := file.Names()
		if err := file.Put(added); err != nil {
			t.Fatalf("Put: %v", err)
		}
		if got := file.Names(); !slices.Equal(got[:len(got)-1], before) {
			t.Errorf("names are %q, were %q", got, before)
		}
		if e, ok := file.Find(added.Name); !ok || e.Username != added.Username || e.Err != nil {
			t.Errorf("got %+v, want %+v", e, added)
		}
		if err := file.SetCurrent(added.Name); err != nil {
			t.Errorf("SetCurrent: %v", err)
		}
		if e, err := file.Current(); err != nil || e.Name != added.Name {
			t.Errorf("Current = %q, %v", e.Name, err)
		}
	})
}
