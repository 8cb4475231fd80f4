package pfstest

import (
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

var mkdirPromises = []promise{
	{says: "Mkdir makes an empty directory", needs: NoEmptyDir, check: func(e *env) {
		e.ok(e.fs.Mkdir(e.ctx, "/dir", 0o755))
		e.ok(e.fs.Mkdir(e.ctx, "/dir/sub", 0o755))
		info := MustStat(e, e.fs, "/dir/sub")
		if !info.IsDir() || info.Name != "sub" || info.Size != 0 {
			e.Errorf("Stat = %+v", info)
		}
		if time.Since(info.ModTime).Abs() > time.Minute {
			e.Errorf("time = %v, want now", info.ModTime)
		}
		WantNames(e, e.fs, "/dir", "sub")
		WantNames(e, e.fs, "/dir/sub")
	}},
	{says: "Mkdir keeps the permission bits", needs: NoEmptyDir | NoMode, check: func(e *env) {
		for name, mode := range map[pfs.Path]fs.FileMode{"/a": 0o700, "/b": 0o755, "/c": 0o777, "/d": 0o750} {
			e.ok(e.fs.Mkdir(e.ctx, name, mode))
			if got := MustStat(e, e.fs, name).Mode; got != fs.ModeDir|mode {
				e.Errorf("mode = %v, want %v", got, fs.ModeDir|mode)
			}
		}
	}},
	{says: "Mkdir of an existing directory succeeds and does not change it", check: func(e *env) {
		e.ok(e.fs.Mkdir(e.ctx, "/dir", 0o700))
		WriteFile(e, e.fs, "/dir/f", []byte("content"))
		before := MustStat(e, e.fs, "/dir")
		e.ok(e.fs.Mkdir(e.ctx, "/dir", 0o777))
		e.sameInfo("the directory", MustStat(e, e.fs, "/dir"), before)
		WantFile(e, e.fs, "/dir/f", []byte("content"))
	}},
	{says: "Mkdir answers Exist for a file or link", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		e.want(e.fs.Mkdir(e.ctx, "/f", 0o755), pfs.Exist, "/f")
		WantFile(e, e.fs, "/f", []byte("content"))
		if e.lacks(NoSymlink) {
			return
		}
		MustMkdir(e, e.fs, "/dir")
		for name, target := range map[pfs.Path]string{"/to-dir": "dir", "/to-nothing": "nowhere"} {
			MustLink(e, e.fs, target, name)
			e.want(e.fs.Mkdir(e.ctx, name, 0o755), pfs.Exist, name)
			if !MustStat(e, e.fs, name).IsLink() {
				e.Errorf("%s is no longer a link", name)
			}
		}
		WantAbsent(e, e.fs, "/nowhere")
	}},
}
