package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

const writable = os.O_WRONLY | os.O_RDWR

// Create makes or truncates a file; Close publishes it.
func (t *tree) Create(name string) (afero.File, error) {
	return t.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

// Open opens a file or directory for reading.
func (t *tree) Open(name string) (afero.File, error) { return t.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file as described at FromPFS. perm is the mode of a new file.
func (t *tree) OpenFile(name string, flag int, perm os.FileMode) (f afero.File, err error) {
	err = t.on("open", name, func(p pfs.Path) error {
		if flag&(writable|os.O_CREATE) == 0 {
			f, err = t.openRead(name, p)
			return err
		}
		c, err := t.openWrite(p, flag, perm)
		if c == nil && err == nil {
			f, err = t.openRead(name, p)
		} else {
			f = &treeFile{ctx: t.ctx, name: name, append: flag&os.O_APPEND != 0, c: c}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openRead opens an existing file.
func (t *tree) openRead(name string, p pfs.Path) (afero.File, error) {
	f, err := t.fsys.Open(t.ctx, p)
	if errors.Is(err, pfs.IsDir) {
		return t.openDir(name, p)
	}
	return &treeFile{ctx: t.ctx, name: name, c: reading{f}}, err
}

// openWrite begins an upload, or opens an existing file for changes in place. It returns nil for an
// existing file that is only read.
func (t *tree) openWrite(p pfs.Path, flag int, perm os.FileMode) (content, error) {
	info, err := t.fsys.Stat(t.ctx, p)
	if err != nil && (flag&os.O_CREATE == 0 || !errors.Is(err, pfs.NotExist)) {
		return nil, err
	}
	if err == nil {
		switch {
		case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
			return nil, fs.ErrExist
		case flag&writable == 0:
			return nil, nil
		case flag&os.O_TRUNC == 0:
			return pfs.OpenHandle(t.ctx, t.fsys, p, pfs.OpenRead|pfs.OpenWrite, 0)
		case info.IsRegular():
			perm = info.Mode
		}
	}
	w, err := t.fsys.Create(t.ctx, p, pfs.CreateOptions{})
	if err != nil {
		return nil, err
	}
	commit := pfs.CommitOptions{Mode: perm.Perm(), NoReplace: flag&os.O_EXCL != 0}
	return &staging{w: w, commit: commit, name: p.Base(), began: time.Now()}, nil
}
