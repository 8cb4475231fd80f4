package pfstest

import (
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
)

var removePromises = []promise{
	{says: "Remove removes a file", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		WriteFile(e, e.fs, "/g", []byte("content"))
		e.ok(e.fs.Remove(e.ctx, "/f"))
		WantAbsent(e, e.fs, "/f")
		e.want(e.fs.Remove(e.ctx, "/f"), pfs.NotExist, "/f")
		WantNames(e, e.fs, pfs.Root, "g")
	}},
	{says: "Remove removes an empty directory", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		e.ok(e.fs.Remove(e.ctx, "/dir/sub"))
		e.ok(e.fs.Remove(e.ctx, "/dir"))
		WantNames(e, e.fs, pfs.Root)
	}},
	{says: "Remove of a directory with entries answers NotEmpty", check: func(e *env) {
		MustMkdir(e, e.fs, "/dirs/sub")
		WriteFile(e, e.fs, "/dirs/sub/f", nil)
		MustMkdir(e, e.fs, "/files")
		WriteFile(e, e.fs, "/files/.hidden", nil)
		e.want(e.fs.Remove(e.ctx, "/dirs"), pfs.NotEmpty, "/dirs")
		e.want(e.fs.Remove(e.ctx, "/files"), pfs.NotEmpty, "/files")
		WantNames(e, e.fs, "/dirs", "sub")
		WantNames(e, e.fs, "/files", ".hidden")
	}},
	{says: "Remove removes a link, not what it leads to", needs: NoSymlink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", []byte("content"))
		for name, target := range map[pfs.Path]string{"/to-dir": "dir", "/to-file": "dir/f", "/to-nothing": "nowhere"} {
			MustLink(e, e.fs, target, name)
			e.ok(e.fs.Remove(e.ctx, name))
			WantAbsent(e, e.fs, name)
		}
		WantFile(e, e.fs, "/dir/f", []byte("content"))
	}},
	{says: "a removed name can be used again", needs: NoEmptyDir, check: func(e *env) {
		WriteFile(e, e.fs, "/name", []byte("file"))
		e.ok(e.fs.Remove(e.ctx, "/name"))
		e.ok(e.fs.Mkdir(e.ctx, "/name", 0o755))
		WriteFile(e, e.fs, "/name/f", []byte("content"))
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/name"))
		e.ok(e.fs.Mkdir(e.ctx, "/name", 0o755))
		WantNames(e, e.fs, "/name")
		e.ok(e.fs.Remove(e.ctx, "/name"))
		WriteFile(e, e.fs, "/name", []byte("again"))
		WantFile(e, e.fs, "/name", []byte("again"))
	}},
	{says: "RemoveTree removes all below a name", check: func(e *env) {
		MustMkdir(e, e.fs, "/kept")
		WriteFile(e, e.fs, "/kept/f", nil)
		for i := range 5 {
			dir := pfs.Path(fmt.Sprintf("/tree/a%d/b/c", i))
			MustMkdir(e, e.fs, dir)
			e.fillDir(dir, "f", 20)
		}
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/tree"))
		WantAbsent(e, e.fs, "/tree")
		WantNames(e, e.fs, pfs.Root, "kept")
	}},
	{says: "RemoveTree removes a file", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/f"))
		WantNames(e, e.fs, pfs.Root)
	}},
	{says: "RemoveTree removes uploads too", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		w := e.stage("/dir/sub/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(w.Suspend(e.ctx))
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/dir"))
		WantAbsent(e, e.fs, "/dir")
		MustMkdir(e, e.fs, "/dir/sub")
		e.wantGone("/dir/sub/f", someID)
	}},
	{says: "RemoveTree removes links, not what they lead to", needs: NoSymlink, check: func(e *env) {
		MustMkdir(e, e.fs, "/home/bob", "/home/alice/sub")
		WriteFile(e, e.fs, "/home/bob/f", []byte("bob's"))
		MustLink(e, e.fs, "../bob", "/home/alice/link")
		MustLink(e, e.fs, "/home/bob", "/home/alice/sub/absolute")
		MustLink(e, e.fs, "../../bob/f", "/home/alice/sub/to-file")
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/home/alice"))
		WantNames(e, e.fs, "/home", "bob")
		WantFile(e, e.fs, "/home/bob/f", []byte("bob's"))
	}},
}
