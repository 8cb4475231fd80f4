package pfstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

var pathPromises = []promise{
	{says: "every operation answers Invalid to what ParsePath refuses", check: func(e *env) {
		e.each(func(operation) bool { return true }, func(e *env, op operation) {
			for _, bad := range badPaths {
				err := op.call(e.ctx, e.fs, bad)
				if !errors.Is(err, pfs.Invalid) {
					e.Errorf("%.60q: error %v, want Invalid", string(bad), err)
				}
			}
			WantNames(e, e.fs, pfs.Root, otherFile.Base())
		})
	}},
	{says: "every legal name can be a file's", check: func(e *env) {
		for i, name := range e.oddNames() {
			p, data := pfs.Root.Join(name), Pattern(uint64(i), 100+i)
			WriteFile(e, e.fs, p, data)
			WantFile(e, e.fs, p, data)
			if got := MustStat(e, e.fs, p).Name; got != name {
				e.Errorf("Stat of %q gives the name %q", name, got)
			}
			WantNames(e, e.fs, pfs.Root, name)
			e.ok(e.fs.Rename(e.ctx, p, "/moved"))
			e.ok(e.fs.Rename(e.ctx, "/moved", p))
			e.ok(e.fs.Remove(e.ctx, p))
			WantAbsent(e, e.fs, p)
		}
	}},
	{says: "every legal name can be a directory's", check: func(e *env) {
		for i, name := range e.oddNames() {
			p, data := pfs.Root.Join(name), Pattern(uint64(i), 10)
			e.ok(e.fs.Mkdir(e.ctx, p, 0o755))
			WriteFile(e, e.fs, p.Join(name), data)
			WantFile(e, e.fs, p.Join(name), data)
			WantNames(e, e.fs, p, name)
			WantNames(e, e.fs, pfs.Root, name)
			e.ok(pfs.RemoveTree(e.ctx, e.fs, p))
		}
		WantNames(e, e.fs, pfs.Root)
	}},
	{says: "every legal name can be a link's", needs: NoSymlink, check: func(e *env) {
		for _, name := range e.oddNames() {
			p := pfs.Root.Join(name)
			MustLink(e, e.fs, name, p)
			if got := MustStat(e, e.fs, p); got.Target != name || got.Name != name {
				e.Errorf("link %q to itself has name %q and target %q", name, got.Name, got.Target)
			}
			e.ok(e.fs.Remove(e.ctx, p))
		}
	}},
	{says: "names that differ by case or normalization are different names", check: func(e *env) {
		names := []string{"name", "NAME", "Name", "\u00e9", "e\u0301", "\u212b", "\u00c5", "A\u030a", "ﬁ", "fi"}
		for i, name := range names {
			WriteFile(e, e.fs, pfs.Root.Join(name), Pattern(uint64(i), 10+i))
		}
		for i, name := range names {
			WantFile(e, e.fs, pfs.Root.Join(name), Pattern(uint64(i), 10+i))
		}
		if got := len(Names(e, e.fs, pfs.Root)); got != len(names) {
			e.Errorf("%d entries, want %d", got, len(names))
		}
	}},
	{says: "a path may be deep", check: func(e *env) {
		p := pfs.Root
		for i := range 100 {
			p = p.Join(fmt.Sprintf("level-%d", i))
		}
		MustMkdir(e, e.fs, p)
		WriteFile(e, e.fs, p.Join("file"), []byte("deep"))
		WantFile(e, e.fs, p.Join("file"), []byte("deep"))
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/level-0"))
		WantNames(e, e.fs, pfs.Root)
	}},
	{says: "the root is a directory from the start", check: func(e *env) {
		if info := MustStat(e, e.fs, pfs.Root); !info.IsDir() || info.Name != "/" {
			e.Errorf("Stat of the root gives name %q and mode %v", info.Name, info.Mode)
		}
		WantNames(e, e.fs, pfs.Root)
		e.ok(e.fs.Mkdir(e.ctx, pfs.Root, 0o700))
	}},
	{says: "the root cannot be removed, replaced or moved", needs: NoEmptyDir, check: func(e *env) {
		WriteFile(e, e.fs, "/file", []byte("kept"))
		MustMkdir(e, e.fs, "/dir")
		e.want(errOf(e.fs.Open(e.ctx, pfs.Root)), pfs.IsDir, pfs.Root)
		e.want(errOf(e.fs.Create(e.ctx, pfs.Root, pfs.CreateOptions{})), pfs.IsDir, pfs.Root)
		e.want(e.fs.Rename(e.ctx, pfs.Root, "/dir/root"), pfs.Invalid, pfs.Root, "/dir/root")
		e.want(e.fs.Rename(e.ctx, "/dir", pfs.Root), pfs.Exist, pfs.Root)
		e.want(e.fs.Rename(e.ctx, "/file", pfs.Root), pfs.Exist, pfs.Root)
		e.want(e.fs.Remove(e.ctx, pfs.Root), pfs.Invalid, pfs.Root)
		WantNames(e, e.fs, pfs.Root, "dir", "file")
		e.ok(e.fs.Remove(e.ctx, "/dir"))
		e.ok(e.fs.Remove(e.ctx, "/file"))
		e.want(e.fs.Remove(e.ctx, pfs.Root), pfs.Invalid, pfs.Root)
		WantNames(e, e.fs, pfs.Root)
	}},
}

// badPaths are paths that a conversion can make and ParsePath refuses.
var badPaths = []pfs.Path{
	"", "a", "../x", "/..", "/a/../b", "/../etc", ".", "/.", "/a/./b", "//", "/a//b", "/a/", "./a",
	"/.pfs-quota", "/a/.pfs-stage", "/.pfs-up-0123456789abcdef-01234567/b", "/.pfs-rm-0123456789abcdef0123456789abcdef",
	"/a\x00b", "/\xff", "/a/\xc3\x28",
	pfs.Path("/" + strings.Repeat("n", pfs.MaxName+1)),
	pfs.Path(strings.Repeat("/deep", pfs.MaxPath/5+1)),
}

// oddNames are legal names that programs often get wrong.
var oddNames = []string{
	" ", "a b", " leading", "trailing ", "tab\there", "line\nbreak", "return\r",
	"~", "~user", "user@example.org", "-", "-rf", "--help", "...", "..x", "x..", ".hidden", ".pfs",
	".pfs-", ".pfs-config", ".pfs-quota~", ".pfs-Stage", ".pfs-rm-01234567", ".pfs-up-x", ".pfs-up-0123456789abcdef-0123456",
	"*", "?", "[a]", "{a,b}", "a\\b", "a:b", "a;b", "a|b", "a&b", "$HOME", "`id`", "'", "\"", "#", "%2F", "%00", "+", "=", ",",
	"ünïcödé", "文件", "नमस्ते", "🚣", "\u202eright-to-left", "\u200b", "\x01", "\x7f", "CON", "nul.txt",
	strings.Repeat("x", pfs.MaxName), strings.Repeat("界", pfs.MaxName/3),
}

// oddNames returns the odd names that the store accepts.
func (e *env) oddNames() []string {
	if !e.lacks(NoColon) {
		return oddNames
	}
	return slices.DeleteFunc(slices.Clone(oddNames), func(name string) bool { return strings.Contains(name, ":") })
}
