package pfs_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/pfs"
)

var longName = strings.Repeat("n", pfs.MaxName)

// longPath has MaxPath bytes.
var longPath = strings.Repeat("/"+strings.Repeat("n", 127), pfs.MaxPath/128)

func TestParsePath(t *testing.T) {
	tests := []struct {
		in string
		ok bool
	}{
		{"/", true},
		{"/a", true},
		{"/a/b", true},
		{"/...", true},
		{"/..a/b..", true},
		{"/.hidden", true},
		{"/.pfs", true},
		{"/.pfs-", true},
		{"/a/.pfs-config/b", true},
		{"/a b/~/-x/@", true},
		{"/line\nbreak", true},
		{"/\u00e9/e\u0301", true},
		{"/" + longName, true},
		{longPath, true},
		{"", false},
		{"a", false},
		{"a/b", false},
		{"//", false},
		{"/a/", false},
		{"/a//b", false},
		{"/.", false},
		{"/..", false},
		{"/a/../b", false},
		{"/a/.", false},
		{"/.pfs-quota", false},
		{"/a/.pfs-stage/b", false},
		{"/\x00", false},
		{"/a\x00b", false},
		{"/\xff", false},
		{"/" + longName + "n", false},
		{longPath + "/n", false},
		{"/" + strings.Repeat("n", 1<<20), false},
	}
	for _, tt := range tests {
		got, err := pfs.ParsePath(tt.in)
		switch {
		case tt.ok && (err != nil || string(got) != tt.in):
			t.Errorf("ParsePath(%.50q) = %.50q, %v", tt.in, got, err)
		case !tt.ok && (got != "" || !errors.Is(err, pfs.Invalid)):
			t.Errorf("ParsePath(%.50q) = %.50q, %v, want Invalid", tt.in, got, err)
		case !tt.ok && len(err.Error()) > 1000:
			t.Errorf("ParsePath(%.50q): message of %d bytes", tt.in, len(err.Error()))
		}
		if err := pfs.CheckPath("test.Op", pfs.Path(tt.in)); (err == nil) != tt.ok {
			t.Errorf("CheckPath(%.50q) = %v", tt.in, err)
		}
	}
}

func TestCleanPath(t *testing.T) {
	tests := []struct {
		in   string
		want pfs.Path // empty for Invalid
	}{
		{"/", "/"},
		{"//", "/"},
		{"/./", "/"},
		{"/a/", "/a"},
		{"//a///b//", "/a/b"},
		{"/a/./b/.", "/a/b"},
		{"/a/...", "/a/..."},
		{"", ""},
		{"a", ""},
		{"./a", ""},
		{"/a/..", ""},
		{"/../a", ""},
		{"/.pfs-x", "/.pfs-x"},
		{"/.pfs-quota/", ""},
		{"/a\x00", ""},
	}
	for _, tt := range tests {
		got, err := pfs.CleanPath(tt.in)
		if got != tt.want || (tt.want == "") != errors.Is(err, pfs.Invalid) {
			t.Errorf("CleanPath(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestPathParts(t *testing.T) {
	tests := []struct {
		p, parent pfs.Path
		base      string
		names     []string
	}{
		{"/", "/", "/", nil},
		{"/a", "/", "a", []string{"a"}},
		{"/a/b c/d", "/a/b c", "d", []string{"a", "b c", "d"}},
	}
	for _, tt := range tests {
		if got := tt.p.Parent(); got != tt.parent {
			t.Errorf("%s: Parent = %s, want %s", tt.p, got, tt.parent)
		}
		if got := tt.p.Base(); got != tt.base {
			t.Errorf("%s: Base = %s, want %s", tt.p, got, tt.base)
		}
		if got := slices.Collect(tt.p.Names()); !slices.Equal(got, tt.names) {
			t.Errorf("%s: Names = %q, want %q", tt.p, got, tt.names)
		}
		if got := tt.parent.Join(tt.base); tt.p != pfs.Root && got != tt.p {
			t.Errorf("%s: Join = %s", tt.p, got)
		}
	}
}

func TestPathWithin(t *testing.T) {
	tests := []struct {
		p, dir pfs.Path
		want   bool
	}{
		{"/", "/", true},
		{"/a", "/", true},
		{"/a", "/a", true},
		{"/a/b", "/a", true},
		{"/ab", "/a", false},
		{"/a", "/a/b", false},
		{"/", "/a", false},
	}
	for _, tt := range tests {
		if got := tt.p.Within(tt.dir); got != tt.want {
			t.Errorf("%s within %s = %v", tt.p, tt.dir, got)
		}
	}
}

func TestPathRebase(t *testing.T) {
	tests := []struct{ p, from, to, want pfs.Path }{
		{"/a/b", "/a", "/x/y", "/x/y/b"},
		{"/a", "/a", "/x", "/x"},
		{"/a", "/", "/x", "/x/a"},
		{"/", "/", "/x", "/x"},
		{"/a/b", "/a", "/", "/b"},
		{"/a", "/a", "/", "/"},
		{"/", "/", "/", "/"},
	}
	for _, tt := range tests {
		if got := tt.p.Rebase(tt.from, tt.to); got != tt.want {
			t.Errorf("%s from %s to %s = %s, want %s", tt.p, tt.from, tt.to, got, tt.want)
		}
	}
}

func TestNewID(t *testing.T) {
	a, b := pfs.NewID(), pfs.NewID()
	if a == b || !pfs.ValidID(a) || !pfs.ValidID(b) {
		t.Errorf("IDs %q and %q", a, b)
	}
	for id, want := range map[string]bool{
		"01234567": true, strings.Repeat("z", 64): true,
		"0123456": false, strings.Repeat("z", 65): false, "0123456A": false, "0123456/": false, "": false,
	} {
		if got := pfs.ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v", id, got)
		}
	}
}

func TestReservedName(t *testing.T) {
	const hash, id = "0123456789abcdef", "0123456789abcdef0123456789abcdef"
	long := strings.Repeat("z", 64)
	for _, tt := range []struct {
		name       string
		reserved   bool
		file, tree bool // how stores treat that name
	}{
		{".pfs-quota", true, false, false},
		{".pfs-stage", true, false, false},
		{".pfs-up-" + hash + "-01234567", true, true, false},
		{".pfs-up-" + hash + "-" + long, true, true, false},
		{".pfs-up-b-t6abcd-" + id, true, true, false},
		{".pfs-up-b-1000000-" + id, true, true, false},
		{".pfs-rm-" + id, true, false, true},

		{"", false, false, false},
		{".pfs", false, false, false},
		{".pfs-", false, false, false},
		{".pfs-config", false, false, false},
		{".pfs-quota ", false, false, false},
		{".PFS-QUOTA", false, false, false},
		{"x.pfs-stage", false, false, false},
		{".pfs-up-", false, false, false},
		{".pfs-up-xyz", false, false, false},
		{".pfs-up-" + hash, false, false, false},
		{".pfs-up-" + hash + "-", false, false, false},
		{".pfs-up-" + hash + "-0123456", false, false, false},
		{".pfs-up-" + hash + "-" + long + "z", false, false, false},
		{".pfs-up-" + hash + "-01234567.txt", false, false, false},
		{".pfs-up-" + hash + "-0123-4567", false, false, false},
		{".pfs-up-" + strings.ToUpper(hash) + "-01234567", false, false, false},
		{".pfs-up-" + hash[1:] + "-01234567", false, false, false},
		{".pfs-up-" + hash + "0-01234567", false, false, false},
		{".pfs-up-b-12345-" + id, false, false, false},
		{".pfs-up-b-t6abcd-01234567", false, false, false},
		{".pfs-up-b-t6abcd-" + id + "-", false, false, false},
		{".pfs-rm-", false, false, false},
		{".pfs-rm-" + id[1:], false, false, false},
		{".pfs-rm-" + id + "0", false, false, false},
		{".pfs-rm-" + long[:32], false, false, false},
		{".pfs-rm-" + id + "\n", false, false, false},
	} {
		if got := pfs.ReservedName(tt.name); got != tt.reserved {
			t.Errorf("ReservedName(%q) = %v", tt.name, got)
		}
		for mode, want := range map[fs.FileMode]bool{0o600: tt.file, fs.ModeDir | 0o700: tt.tree, fs.ModeSymlink: false, fs.ModeSocket: false} {
			if got := pfs.IsTemp(tt.name, mode); got != want {
				t.Errorf("IsTemp(%q, %v) = %v", tt.name, mode, got)
			}
		}
	}
	if name := pfs.RemovedName(); !pfs.ReservedName(name) {
		t.Errorf("RemovedName() = %q, which is not reserved", name)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/", "/a/b", "", "..", "/a/../b", "//", "/\xff", "/.pfs-1", "/.pfs-quota", "/\u00e9/~/a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := pfs.ParsePath(s); err == nil {
			checkParsed(t, p)
		}
		p, err := pfs.CleanPath(s)
		if err != nil {
			return
		}
		checkParsed(t, p)
		if again, err := pfs.CleanPath(string(p)); again != p || err != nil {
			t.Errorf("CleanPath(%q) = %q, %v: not a fixed point", p, again, err)
		}
	})
}

// checkParsed fails unless p satisfies all promises of a Path.
func checkParsed(t *testing.T, p pfs.Path) {
	t.Helper()
	if p == "" || p[0] != '/' || len(p) > pfs.MaxPath || !utf8.ValidString(string(p)) || strings.Contains(string(p), "\x00") {
		t.Fatalf("%q is no Path", p)
	}
	built := pfs.Root
	for name := range p.Names() {
		if reason := pfs.CheckName(name); reason != "" {
			t.Fatalf("%q has the element %q: %s", p, name, reason)
		}
		built = built.Join(name)
	}
	if built != p {
		t.Fatalf("the elements of %q make %q", p, built)
	}
	if p != pfs.Root && (p.Parent().Join(p.Base()) != p || !p.Within(p.Parent()) || p.Parent().Within(p)) {
		t.Fatalf("%q is not its parent's child", p)
	}
}
