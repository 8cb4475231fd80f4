package aferofs

import (
	"errors"
	"io/fs"
	"os"

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

// OpenFile opens a file as FromPFS says. perm is for a file that is made.
func (t *tree) OpenFile(name string, flag int, perm os.FileMode) (f afero.File, err error) {
	err = t.on("open", name, func(p pfs.Path) error {
		if flag&(writable|os.O_CREATE) == 0 {
			f, err = t.openRead(name, p)
		} else {
			f, err = t.openWrite(name, p, flag, perm)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openRead opens what is there.
func (t *tree) openRead(name string, p pfs.Path) (afero.File, error) {
	f, err := t.fsys.Open(t.ctx, p)
	if errors.Is(err, pfs.IsDir) {
		return t.openDir(name, p)
	}
	if err != nil {
		return nil, err
	}
	return &treeFile{name: name, c: reading{t.ctx, f}}, nil
}

// openWrite stages a file or edits the one that is there.
func (t *tree) openWrite(name string, p pfs.Path, flag int, perm os.FileMode) (afero.File, error) {
	info, err := t.fsys.Stat(t.ctx, p)
	there := err == nil
	switch {
	case !there && !errors.Is(err, pfs.NotExist):
		return nil, err
	case !there && flag&os.O_CREATE == 0:
		return nil, err
	case there && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case there && flag&writable == 0:
		return t.openRead(name, p)
	case there && flag&os.O_TRUNC == 0:
		return t.edit(name, p, flag&os.O_APPEND != 0)
	case there && info.IsRegular():
		perm = info.Mode
	}
	w, err := t.fsys.Create(t.ctx, p, pfs.CreateOptions{})
	if err != nil {
		return nil, err
	}
	commit := pfs.CommitOptions{Mode: perm.Perm(), NoReplace: flag&os.O_EXCL != 0}
	return &treeFile{name: name, append: flag&os.O_APPEND != 0, c: newStaging(t.ctx, p, w, commit)}, nil
}

// edit opens the file p for changes in place.
func (t *tree) edit(name string, p pfs.Path, atEnd bool) (afero.File, error) {
	h, err := pfs.OpenHandle(t.ctx, t.fsys, p, pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		return nil, err
	}
	return &treeFile{name: name, append: atEnd, c: editing{t.ctx, h}}, nil
}
