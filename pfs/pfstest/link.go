package pfstest

import (
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

var linkPromises = []promise{
	{says: "a link keeps its target unchanged", needs: NoSymlink, check: func(e *env) {
		for i, target := range targets {
			name := pfs.Root.Join(numbered("link", len(targets))[i])
			MustLink(e, e.fs, target, name)
			info := MustStat(e, e.fs, name)
			if info.Target != target || !info.IsLink() || info.IsDir() || info.Name != name.Base() {
				e.Errorf("link to %q is %+v", target, info)
			}
		}
	}},
	{says: "MakeLink answers Exist if the name exists", needs: NoSymlink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/f", []byte("content"))
		MustLink(e, e.fs, "first", "/link")
		for _, name := range []pfs.Path{"/dir", "/f", "/link", pfs.Root} {
			e.want(pfs.MakeLink(e.ctx, e.fs, "second", name), pfs.Exist, name)
		}
		if got := MustStat(e, e.fs, "/link").Target; got != "first" {
			e.Errorf("target = %q, want %q", got, "first")
		}
	}},
	{says: "no operation passes through a link to a directory", needs: NoSymlink, check: func(e *env) {
		e.each(notAnywhere, func(e *env, op operation) {
			e.homes("../bob")
			for _, name := range []pfs.Path{"/home/alice/link/f", "/home/alice/link/dir", "/home/alice/link/new", "/home/alice/link/dir/new"} {
				e.want(op.call(e.ctx, e.fs, name), pfs.Symlink, "/home/alice/link")
			}
			e.wantHomes()
		})
	}},
	{says: "no operation passes through a link that leads outside", needs: NoSymlink, check: func(e *env) {
		e.each(notAnywhere, func(e *env, op operation) {
			e.eachHomes(targets, func() {
				e.want(op.call(e.ctx, e.fs, "/home/alice/link/passwd"), pfs.Symlink, "/home/alice/link")
			})
		})
	}},
	{says: "no operation opens the target of a link", needs: NoSymlink, check: func(e *env) {
		e.each(func(op operation) bool { return op.opens }, func(e *env, op operation) {
			e.eachHomes(append([]string{"../bob/f"}, targets...), func() {
				e.want(op.call(e.ctx, e.fs, "/home/alice/link"), pfs.Symlink, "/home/alice/link")
			})
		})
	}},
	{says: "the error names the first link on the way", needs: NoSymlink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		MustLink(e, e.fs, "sub", "/dir/first")
		MustLink(e, e.fs, "..", "/dir/sub/second")
		e.want(errOf(e.fs.Stat(e.ctx, "/dir/first/second/first/x")), pfs.Symlink, "/dir/first")
		e.want(errOf(e.fs.Stat(e.ctx, "/dir/sub/second/first/x")), pfs.Symlink, "/dir/sub/second")
	}},
	{says: "a loop of links ends with an error", needs: NoSymlink, check: func(e *env) {
		MustLink(e, e.fs, "b", "/a")
		MustLink(e, e.fs, "a", "/b")
		e.want(errOf(e.fs.Open(e.ctx, "/a")), pfs.Symlink, "/a")
		e.want(errOf(e.fs.Stat(e.ctx, "/a/x")), pfs.Symlink, "/a")
		WantNames(e, e.fs, pfs.Root, "a", "b")
	}},
	{says: "Walk visits links and does not follow them", needs: NoSymlink, check: func(e *env) {
		e.homes("..")
		MustLink(e, e.fs, "/", "/home/bob/root")
		var seen []pfs.Path
		e.ok(pfs.Walk(e.ctx, e.fs, pfs.Root, func(name pfs.Path, _ pfs.Info, err error) error {
			seen = append(seen, name)
			return err
		}))
		slices.Sort(seen)
		want := []pfs.Path{"/", "/home", "/home/alice", "/home/alice/link", "/home/bob", "/home/bob/dir", "/home/bob/f", "/home/bob/root"}
		if !slices.Equal(seen, want) {
			e.Errorf("Walk visits %q, want %q", seen, want)
		}
	}},
}

// targets are links that lead inside, outside, nowhere and nonsense.
var targets = []string{
	"bob", "../bob", "/home/bob", "../../../../../../../../etc", "/etc", "/", ".", "..", "nowhere", "self",
	"a//b/./../c", "with space", "~", "ünï", "trailing/", "*",
}

// homes makes two homes, a file in one, and in the other a link to target.
func (e *env) homes(target string) {
	e.Helper()
	MustMkdir(e, e.fs, "/home/bob/dir", "/home/alice")
	WriteFile(e, e.fs, "/home/bob/f", []byte("bob's"))
	MustLink(e, e.fs, target, "/home/alice/link")
}

// eachHomes makes the homes and calls check with each of the targets in turn.
func (e *env) eachHomes(targets []string, check func()) {
	e.Helper()
	e.homes(targets[0])
	for _, target := range targets {
		e.ok(e.fs.Remove(e.ctx, "/home/alice/link"))
		MustLink(e, e.fs, target, "/home/alice/link")
		check()
		e.wantHomes()
	}
}

// wantHomes fails if anything of bob's has changed.
func (e *env) wantHomes() {
	e.Helper()
	WantNames(e, e.fs, "/home", "alice", "bob")
	WantNames(e, e.fs, "/home/alice", "link")
	WantNames(e, e.fs, "/home/bob", "dir", "f")
	WantNames(e, e.fs, "/home/bob/dir")
	WantFile(e, e.fs, "/home/bob/f", []byte("bob's"))
}

func notAnywhere(op operation) bool { return !op.anywhere }
