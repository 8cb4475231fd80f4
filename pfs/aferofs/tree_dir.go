package aferofs

import (
	"io"
	"io/fs"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// treeDir is an open directory, read page by page.
type treeDir struct {
	treeFile
	t *tree
	p pfs.Path

	rest    []os.FileInfo // of the page read last
	unnamed string        // an entry that cannot be named, or empty
	token   string
	end     bool // the page read last was the last
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
	return &treeDir{treeFile: treeFile{name: name, c: entry{info}}, t: t, p: p}, nil
}

// Readdir returns up to n entries, and io.EOF when there are no more; with n <= 0
// all that are left. An entry that cannot be named answers pfs.Invalid after the
// others.
func (d *treeDir) Readdir(n int) (infos []os.FileInfo, err error) {
	err = d.do("readdir", func() error {
		for n <= 0 || len(infos) < n {
			if len(d.rest) == 0 {
				if d.end {
					return d.last(n, len(infos))
				}
				if err := d.page(); err != nil {
					return err
				}
				continue
			}
			k := len(d.rest)
			if n > 0 {
				k = min(k, n-len(infos))
			}
			infos = append(infos, d.rest[:k]...)
			d.rest = d.rest[k:]
		}
		return nil
	})
	return infos, err
}

// last answers at the end of the directory, k entries after the call began.
func (d *treeDir) last(n, k int) error {
	switch {
	case n > 0 && k > 0:
		return nil // the next call says so
	case d.unnamed != "":
		return pfs.Errorf("aferofs.Readdir", d.p, pfs.Invalid, "entry %s cannot be named here", d.unnamed)
	case n > 0:
		return io.EOF
	}
	return nil
}

// page reads the next page.
func (d *treeDir) page() error {
	page, err := d.t.fsys.List(d.t.ctx, d.p, pfs.ListOptions{Token: d.token})
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		d.rest = append(d.rest, fileInfo{e})
	}
	if len(page.Unnamed) > 0 {
		d.unnamed = page.Unnamed[0]
	}
	d.token, d.end = page.Next, page.Next == ""
	return nil
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

// entry is a directory where a content is wanted.
type entry struct{ e pfs.Info }

func (entry) readAt([]byte, int64) (int, error)  { return 0, pfs.IsDir }
func (entry) writeAt([]byte, int64) (int, error) { return 0, pfs.IsDir }
func (entry) truncate(int64) error               { return pfs.IsDir }
func (entry) sync() error                        { return nil }
func (e entry) info() (pfs.Info, error)          { return e.e, nil }
func (entry) close() error                       { return nil }
