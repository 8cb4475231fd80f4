package localfs

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Chmod sets the permission bits of name. A directory keeps its special bits.
func (f *FS) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "localfs.Chmod"
	return f.at(ctx, op, name, func(d dir, base string) error {
		st, err := f.lookAtNoLink(d, base, op, name)
		if err != nil {
			return err
		}
		bits := mode.Perm()
		if st.mode.IsDir() {
			bits |= st.mode & special
		}
		if err := d.chmod(base, bits); err != nil {
			return err
		}
		return f.syncEntry(d, base)
	})
}

// Chtime sets the modification time of name. A digest stays trusted.
func (f *FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	const op = "localfs.Chtime"
	return f.at(ctx, op, name, func(d dir, base string) error {
		st, err := f.lookAtNoLink(d, base, op, name)
		if err != nil {
			return err
		}
		if err := f.chtime(d, base, st, mtime); err != nil {
			return err
		}
		return f.syncEntry(d, base)
	})
}

// chtime sets the time of base, which st describes, and does not sync it.
func (f *FS) chtime(d dir, base string, st stat, mtime time.Time) error {
	if !st.mode.IsRegular() {
		return d.chtime(base, mtime)
	}
	file, err := d.openFile(base, os.O_RDONLY, 0)
	if err != nil {
		return d.chtime(base, mtime) // without the right to read it has no mark to us
	}
	defer file.Close()
	return f.chtimeMarked(d, base, file, mtime)
}

// chtimeMarked is chtime of a file whose mark goes with it.
func (f *FS) chtimeMarked(d dir, base string, file *os.File, mtime time.Time) error {
	f.marks.Lock()
	defer f.marks.Unlock()
	st, err := statFile(file)
	if err != nil {
		return err
	}
	m, ok := f.readMark(file, st)
	if err := d.chtime(base, mtime); err != nil || !ok {
		return err
	}
	st, err = statFile(file)
	if err != nil {
		return err
	}
	m.ModTime = st.mtime // as the file system rounded it
	f.writeMark(file, m)
	return nil
}

// lookAtNoLink describes base, which must not be a link.
func (f *FS) lookAtNoLink(d dir, base, op string, name pfs.Path) (stat, error) {
	st, err := f.look(d, base)
	if err == nil && st.mode&fs.ModeSymlink != 0 {
		err = pfs.E(op, name, pfs.Symlink, nil)
	}
	return st, err
}
