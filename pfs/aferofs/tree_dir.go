package aferofs

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// treeDir is an open directory, read page by page.
type treeDir struct {
	treeFile
	next    func() (pfs.Info, error, bool)
	stop    func()
	failed  error
	unnamed string // an entry that cannot be named, or empty
}

// openDir opens the directory p, or one that the link p leads to.
func (t *tree) openDir(name string, p pfs.Path) (afero.File, error) {
	info, err := t.fsys.Stat(t.ctx, p)
	if err != nil {
		return nil, err
	}
	if info.IsLink() {
		info = pfs.Info{Name: info.Name, Mode: fs.ModeDir | 0o755, ModTime: info.ModTime}
	}
	d := &treeDir{treeFile: treeFile{ctx: t.ctx, name: name, c: reading{entry(info)}}}
	d.next, d.stop = iter.Pull2(pfs.Entries(t.ctx, t.fsys, p, func(quoted string) { d.unnamed = quoted }))
	return d, nil
}

func (d *treeDir) Close() error {
	return d.do("close", func() error {
		d.closed = true
		d.stop()
		return nil
	})
}

// Readdir returns up to n entries, and io.EOF at the end; with n <= 0 all remaining ones. Entries
// whose names cannot be in a Path return pfs.Invalid after the others.
func (d *treeDir) Readdir(n int) (infos []os.FileInfo, err error) {
	err = d.do("readdir", func() error {
		for d.failed == nil && (n <= 0 || len(infos) < n) {
			info, err, ok := d.next()
			switch {
			case err != nil:
				d.failed = err
			case ok:
				infos = append(infos, fileInfo{info})
			case n > 0 && len(infos) > 0:
				return nil // the next call reports the end
			case d.unnamed != "":
				return pfs.Errorf("aferofs.Readdir", "", pfs.Invalid, "entry %s cannot be named here", d.unnamed)
			case n > 0:
				return io.EOF
			default:
				return nil
			}
		}
		return d.failed
	})
	return infos, err
}

// Readdirnames is Readdir for callers that need names only.
func (d *treeDir) Readdirnames(n int) ([]string, error) {
	infos, err := d.Readdir(n)
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name()
	}
	return names, err
}

// entry is the pfs.File of a directory.
type entry pfs.Info

func (entry) ReadAt(context.Context, []byte, int64) (int, error) { return 0, pfs.IsDir }
func (e entry) Info() pfs.Info                                   { return pfs.Info(e) }
func (entry) Close() error                                       { return nil }
