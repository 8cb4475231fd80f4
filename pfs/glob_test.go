package pfs_test

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// globbed returns the paths that pattern matches, in the order of the matches.
func globbed(t *testing.T, fsys pfs.FileSystem, pattern string) []string {
	t.Helper()
	var got []string
	err := pfs.Glob(t.Context(), fsys, pattern, func(name pfs.Path, info pfs.Info) error {
		if info.Name != name.Base() {
			t.Errorf("Glob %q: %s comes with the Info of %q", pattern, name, info.Name)
		}
		got = append(got, string(name))
		return nil
	})
	if err != nil {
		t.Errorf("Glob %q: %v", pattern, err)
	}
	return got
}

func TestGlob(t *testing.T) {
	fsys := newTree(t,
		"/a/b/c/deep.txt", "/a/b/x.txt", "/a/x.txt", "/a/y.TXT", "/a/.hidden/x.txt", "/a/.dot.txt",
		"/a/é.txt", "/a/[x].txt", "/a/b{1,2}", "/a/back\\slash", "/a/*", "/b/x.txt", "/b/empty/",
		"/b/link -> ../a", "/b/to-x -> x.txt", "/z1", "/z2", "/z3",
	)
	tests := []struct {
		pattern string
		want    []string
	}{
		{"/z?", []string{"/z1", "/z2", "/z3"}},
		{"/z[12]", []string{"/z1", "/z2"}},
		{"/z[1-2]", []string{"/z1", "/z2"}},
		{"/z[!1]", []string{"/z2", "/z3"}},
		{"/z[^1]", []string{"/z2", "/z3"}},
		{"/z{1,3,9}", []string{"/z1", "/z3"}},
		{"/z{1,{2,3}}", []string{"/z1", "/z2", "/z3"}},
		{"/{z1,b/x.txt,b/missing}", []string{"/b/x.txt", "/z1"}},
		{"{/z1,/b/x.txt}", []string{"/b/x.txt", "/z1"}},
		{"/z{1,1,?}", []string{"/z1", "/z2", "/z3"}},
		{"/{a,b,*}/x.txt", []string{"/a/x.txt", "/b/x.txt"}},
		{"/a{,/b}/x.txt", []string{"/a/b/x.txt", "/a/x.txt"}},
		{"/*/x.txt", []string{"/a/x.txt", "/b/x.txt"}},
		{"//*//./x.txt/", []string{"/a/x.txt", "/b/x.txt"}},
		{"/a/*.txt", []string{"/a/[x].txt", "/a/x.txt", "/a/é.txt"}},
		{"/a/?.txt", []string{"/a/x.txt", "/a/é.txt"}},
		{"/a/.*", []string{"/a/.dot.txt", "/a/.hidden"}},
		{"/a/\\.*", []string{"/a/.dot.txt", "/a/.hidden"}},
		{"/a/[.]*", nil},
		{"/a/?hidden", nil},
		{"/a/.hidden/*", []string{"/a/.hidden/x.txt"}},
		{"/a/\\[x\\].*", []string{"/a/[x].txt"}},
		{"/a/[[]x].txt", []string{"/a/[x].txt"}},
		{"/a/b\\{1,2\\}", []string{"/a/b{1,2}"}},
		{"/a/b[{]*", []string{"/a/b{1,2}"}},
		{"/a/{b[{]*,[,]}", []string{"/a/b{1,2}"}},
		{"/a/back\\\\*", []string{"/a/back\\slash"}},
		{"/a/\\*", []string{"/a/*"}},
		{"/**/x.txt", []string{"/a/b/x.txt", "/a/x.txt", "/b/x.txt"}},
		{"/**/b/**/*.txt", []string{"/a/b/c/deep.txt", "/a/b/x.txt", "/b/x.txt"}},
		{"/a/b/**", []string{"/a/b/c", "/a/b/c/deep.txt", "/a/b/x.txt"}},
		{"/b/**", []string{"/b/empty", "/b/link", "/b/to-x", "/b/x.txt"}},
		{"/**/**/deep.txt", []string{"/a/b/c/deep.txt"}},
		{"/a**t", nil},
		{"/a/x**t", []string{"/a/x.txt"}},
		{"/b/link/*", nil},
		{"/b/link/{x.txt,y.txt}", nil},
		{"/z1/*", nil},
		{"/missing/*", nil},
		{"/missing/{a,b}", nil},
		{"/{,missing}", []string{"/"}},
		{"/", []string{"/"}},
		{"/a/x.txt", []string{"/a/x.txt"}},
		{"/a/\\[x].txt", []string{"/a/[x].txt"}},
	}
	for _, tt := range tests {
		wantPaths(t, "Glob "+tt.pattern, globbed(t, fsys, tt.pattern), tt.want...)
	}
}

func TestGlobListsOnlyWhatItMust(t *testing.T) {
	s := newSpy()
	tree(t, s, "/a/b/c/x.txt", "/a/other/x.txt", "/z/x.txt", "/a/.hidden/x.txt")
	tests := []struct {
		pattern string
		want    []string
	}{
		{"/a/b/c/x.txt", []string{"Stat /a/b/c/x.txt"}},
		{"/a/b/c/{x,y}.txt", []string{"Stat /a/b/c/x.txt", "Stat /a/b/c/y.txt"}},
		{"/a/b/c/*", []string{"List /a/b/c"}},
		{"/a/{b,b}/c/*", []string{"List /a/b/c"}},
		{"/a/*/c/x.txt", []string{"List /a", "Stat /a/b/c/x.txt", "Stat /a/other/c/x.txt"}},
		{"/a/**", []string{"List /a", "List /a/b", "List /a/b/c", "List /a/other"}},
		{"/{a/**,a/b/*}", []string{"List /a", "List /a/b", "List /a/b/c", "List /a/other"}},
	}
	for _, tt := range tests {
		s.noted()
		globbed(t, s, tt.pattern)
		wantPaths(t, "calls of Glob "+tt.pattern, s.noted(), tt.want...)
	}
}

func TestGlobWithoutMagicIsStat(t *testing.T) {
	fsys := newTree(t, "/file", "/link -> file")
	none := func(name pfs.Path, _ pfs.Info) error {
		t.Errorf("%s is reported", name)
		return nil
	}
	wantPath(t, pfs.Glob(t.Context(), fsys, "/missing", none), pfs.NotExist, "/missing")
	wantPath(t, pfs.Glob(t.Context(), fsys, "/file/x", none), pfs.NotDir, "/file")
	wantPath(t, pfs.Glob(t.Context(), fsys, "/link/x", none), pfs.Symlink, "/link")
}

func TestGlobBadPatterns(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	tests := []struct {
		pattern string
		want    pfs.Kind
	}{
		{"", pfs.Invalid},
		{"a*", pfs.Invalid},
		{"{/a,b}*", pfs.Invalid},
		{"/[", pfs.Invalid},
		{"/[]", pfs.Invalid},
		{"/[a", pfs.Invalid},
		{"/[a/b]", pfs.Invalid},
		{"/{a", pfs.Invalid},
		{"/{a,{b}", pfs.Invalid},
		{"/a\\", pfs.Invalid},
		{"/a\\/b", pfs.Invalid},
		{"/../*", pfs.Invalid},
		{"/*/..", pfs.Invalid},
		{"/.pfs-quota/*", pfs.Invalid},
		{"/\xff/*", pfs.Invalid},
		{"/" + strings.Repeat("a", pfs.MaxPath), pfs.Limit},
		{"/" + strings.Repeat("{a}", 65), pfs.Limit},
		{"/" + strings.Repeat("{a,b}", 11), pfs.Limit},
	}
	for _, tt := range tests {
		err := pfs.Glob(t.Context(), fsys, tt.pattern, func(pfs.Path, pfs.Info) error { return nil })
		if !errors.Is(err, tt.want) {
			t.Errorf("Glob %.40q: %v, want %v", tt.pattern, err, tt.want)
		}
	}
}

func TestGlobEnds(t *testing.T) {
	fsys := newTree(t, "/a/x", "/b/x", "/c/x")
	count := 0
	err := pfs.Glob(t.Context(), fsys, "/*/x", func(pfs.Path, pfs.Info) error {
		count++
		return fs.SkipAll
	})
	if count != 1 || err != nil {
		t.Errorf("%d matches before SkipAll, error %v", count, err)
	}
	for _, pattern := range []string{"/*/x", "/a/{x,y}", "/a/x"} {
		err := pfs.Glob(t.Context(), fsys, pattern, func(pfs.Path, pfs.Info) error { return pfs.NotExist })
		if err != pfs.NotExist {
			t.Errorf("Glob %s: error %v, want that of the function", pattern, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pfstest.WantKind(t, pfs.Glob(ctx, fsys, "/**", nil), pfs.Canceled)
}

func TestGlobReportsErrors(t *testing.T) {
	s := newSpy()
	tree(t, s, "/a/x", "/b/x")
	s.fail = func(call string) error {
		if call == "List /b" {
			return pfs.E("spy.List", "/b", pfs.Permission, nil)
		}
		return nil
	}
	err := pfs.Glob(t.Context(), s, "/*/*", func(pfs.Path, pfs.Info) error { return nil })
	wantPath(t, err, pfs.Permission, "/b")
}

func TestHasMagic(t *testing.T) {
	for pattern, want := range map[string]bool{
		"/a/b": false, "/*": true, "/?": true, "/[a]": true, "/{a,b}": true,
		"/\\*": false, "/\\\\*": true, "/a]": false, "/a}": false, "/\\": false, "": false,
	} {
		if got := pfs.HasMagic(pattern); got != want {
			t.Errorf("HasMagic(%q) = %v", pattern, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"/*", "/{a,b}/[!c]*", "/**/x", "/\\[a]", "/[a-", "/{a,{b,c},}"} {
		f.Add(s, "abc")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if pfs.CheckName(name) != "" {
			return
		}
		fsys := newTree(t, "/"+name, "/dir/"+name)
		seen := map[pfs.Path]bool{}
		err := pfs.Glob(t.Context(), fsys, pattern, func(p pfs.Path, _ pfs.Info) error {
			if seen[p] {
				t.Errorf("Glob %q reports %q twice", pattern, p)
			}
			seen[p] = true
			return nil
		})
		if err == nil && !strings.ContainsAny(pattern, "{}!") && !strings.Contains(pattern, "**") {
			ok, bad := path.Match(path.Clean(pattern), "/"+name)
			hidden := strings.HasPrefix(name, ".")
			if bad == nil && !hidden && ok != seen[pfs.Root.Join(name)] {
				t.Errorf("Glob %q: match of %q is %v, want %v", pattern, name, !ok, ok)
			}
		}
	})
}

// TestGlobUnnamed matches names that cannot be in a Path.
func TestGlobUnnamed(t *testing.T) {
	fsys := oneByOne{newTree(t, "/d/a.txt", "/d/b.csv"), map[pfs.Path]string{"/d": `"\xff.txt"`}}
	none := func(pfs.Path, pfs.Info) error { return nil }
	for _, pattern := range []string{"/d/*", "/d/*.txt", "/**/x"} {
		wantPath(t, pfs.Glob(t.Context(), fsys, pattern, none), pfs.Invalid, "/d")
	}
	if got := globbed(t, fsys, "/d/*.csv"); len(got) != 1 {
		t.Errorf("/d/*.csv matches %q", got)
	}
}
