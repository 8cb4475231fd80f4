package pfstest

import (
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

var renamePromises = []promise{
	{says: "Rename moves a file with all its attributes", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFileWith(e, e.fs, "/f", Pattern(1, 1000), pfs.CommitOptions{Mode: 0o600, ModTime: time.Unix(1e9, 0)})
		want := MustStat(e, e.fs, "/f")
		for _, step := range [][2]pfs.Path{{"/f", "/g"}, {"/g", "/dir/g"}, {"/dir/g", "/dir/h"}} {
			e.ok(e.fs.Rename(e.ctx, step[0], step[1]))
			WantAbsent(e, e.fs, step[0])
			got := MustStat(e, e.fs, step[1])
			want.Name, want.Version = step[1].Base(), got.Version
			e.sameInfo("the renamed file", got, want)
			WantFile(e, e.fs, step[1], Pattern(1, 1000))
		}
		WantNames(e, e.fs, pfs.Root, "dir")
		WantNames(e, e.fs, "/dir", "h")
	}},
	{says: "Rename moves a directory with all below it", needs: NoRenameDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/old/a/b", "/to")
		WriteFile(e, e.fs, "/old/a/b/f", Pattern(1, 1000))
		e.ok(e.fs.Rename(e.ctx, "/old", "/to/new"))
		WantAbsent(e, e.fs, "/old", "/old/a/b/f")
		WantFile(e, e.fs, "/to/new/a/b/f", Pattern(1, 1000))
		e.ok(e.fs.Rename(e.ctx, "/to/new/a", "/a"))
		WantFile(e, e.fs, "/a/b/f", Pattern(1, 1000))
		WantNames(e, e.fs, "/to/new")
	}},
	{says: "Rename over a file replaces it", check: func(e *env) {
		WriteFile(e, e.fs, "/new", Pattern(1, 1000))
		WriteFile(e, e.fs, "/old", Pattern(2, 500))
		e.ok(e.fs.Rename(e.ctx, "/new", "/old"))
		WantFile(e, e.fs, "/old", Pattern(1, 1000))
		WantNames(e, e.fs, pfs.Root, "old")
	}},
	{says: "Rename over a link replaces the link, not what it leads to", needs: NoSymlink, check: func(e *env) {
		WriteFile(e, e.fs, "/target", []byte("target"))
		WriteFile(e, e.fs, "/f", []byte("file"))
		MustLink(e, e.fs, "target", "/link")
		e.ok(e.fs.Rename(e.ctx, "/f", "/link"))
		WantFile(e, e.fs, "/link", []byte("file"))
		WantFile(e, e.fs, "/target", []byte("target"))
		MustLink(e, e.fs, "dir", "/to-dir")
		MustMkdir(e, e.fs, "/dir")
		e.ok(e.fs.Rename(e.ctx, "/link", "/to-dir"))
		WantFile(e, e.fs, "/to-dir", []byte("file"))
		WantNames(e, e.fs, "/dir")
	}},
	{says: "Rename moves a link, not what it leads to", needs: NoSymlink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/f", []byte("file"))
		MustLink(e, e.fs, "../dir", "/link")
		e.ok(e.fs.Rename(e.ctx, "/link", "/dir/link"))
		if got := MustStat(e, e.fs, "/dir/link"); got.Target != "../dir" {
			e.Errorf("target = %q, want it unchanged", got.Target)
		}
		e.ok(e.fs.Rename(e.ctx, "/dir/link", "/f"))
		if !MustStat(e, e.fs, "/f").IsLink() {
			e.Error("a link did not replace a file")
		}
		WantNames(e, e.fs, pfs.Root, "dir", "f")
	}},
	{says: "Rename over a directory answers Exist, even an empty one", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/empty", "/full/sub", "/dir")
		WriteFile(e, e.fs, "/f", []byte("file"))
		for _, from := range []pfs.Path{"/dir", "/f", "/full/sub"} {
			for _, to := range []pfs.Path{"/empty", "/full"} {
				e.want(e.fs.Rename(e.ctx, from, to), pfs.Exist, to)
			}
		}
		WantNames(e, e.fs, pfs.Root, "dir", "empty", "f", "full")
		WantNames(e, e.fs, "/full", "sub")
	}},
	{says: "Rename of a directory over a file answers NotDir", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/f", []byte("file"))
		e.want(e.fs.Rename(e.ctx, "/dir", "/f"), pfs.NotDir, "/f")
		WantFile(e, e.fs, "/f", []byte("file"))
		WantNames(e, e.fs, "/dir", "sub")
		if !e.lacks(NoSymlink) {
			MustLink(e, e.fs, "dir", "/link")
			e.want(e.fs.Rename(e.ctx, "/dir", "/link"), pfs.NotDir, "/link")
		}
	}},
	{says: "Rename of a directory into itself answers Invalid", needs: NoRenameDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/a/b/c")
		for _, to := range []pfs.Path{"/a/x", "/a/b/x", "/a/b/c/x"} {
			e.want(e.fs.Rename(e.ctx, "/a", to), pfs.Invalid, "/a", to)
		}
		MustMkdir(e, e.fs, "/ab")
		e.ok(e.fs.Rename(e.ctx, "/a", "/ab/a"))
		WantNames(e, e.fs, "/ab/a/b", "c")
	}},
	{says: "Rename to the same name succeeds if it exists", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/dir/sub/f", nil)
		WriteFile(e, e.fs, "/f", []byte("file"))
		e.ok(e.fs.Rename(e.ctx, "/f", "/f"))
		e.ok(e.fs.Rename(e.ctx, "/dir", "/dir"))
		WantFile(e, e.fs, "/f", []byte("file"))
		WantNames(e, e.fs, "/dir", "sub")
		e.want(e.fs.Rename(e.ctx, "/missing", "/missing"), pfs.NotExist, "/missing")
		if !e.lacks(NoSymlink) {
			MustLink(e, e.fs, "nowhere", "/link")
			e.ok(e.fs.Rename(e.ctx, "/link", "/link"))
			WantNames(e, e.fs, pfs.Root, "dir", "f", "link")
		}
	}},
	{says: "RenameExclusive renames", needs: NoRenameDir | NoExclusiveRename, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/f", []byte("file"))
		e.ok(pfs.RenameExclusive(e.ctx, e.fs, "/f", "/dir/g"))
		e.ok(pfs.RenameExclusive(e.ctx, e.fs, "/dir", "/moved"))
		WantNames(e, e.fs, pfs.Root, "moved")
		WantFile(e, e.fs, "/moved/g", []byte("file"))
		e.want(pfs.RenameExclusive(e.ctx, e.fs, "/moved", "/moved/sub/x"), pfs.Invalid, "/moved", "/moved/sub/x")
	}},
	{says: "RenameExclusive answers Exist for anything at the new name", needs: NoEmptyDir | NoExclusiveRename, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir", "/empty")
		WriteFile(e, e.fs, "/f", []byte("file"))
		WriteFile(e, e.fs, "/g", []byte("other"))
		taken := []pfs.Path{"/g", "/empty"}
		if !e.lacks(NoSymlink) {
			MustLink(e, e.fs, "nowhere", "/link")
			taken = append(taken, "/link")
		}
		for _, to := range taken {
			for _, from := range []pfs.Path{"/f", "/dir"} {
				e.want(pfs.RenameExclusive(e.ctx, e.fs, from, to), pfs.Exist, to)
			}
		}
		WantFile(e, e.fs, "/g", []byte("other"))
		WantFile(e, e.fs, "/f", []byte("file"))
	}},
}
