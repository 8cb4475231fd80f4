package localfs

import (
	"context"
	"io/fs"
	"os"
	"strings"
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
		return d.chmod(base, bits)
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
		if !st.mode.IsRegular() {
			return d.chtime(base, mtime)
		}
		file, err := d.openFile(base, os.O_RDONLY, 0)
		if err != nil {
			return d.chtime(base, mtime) // without the right to read it has no mark to us
		}
		defer file.Close()
		return f.chtimeMarked(d, base, file, mtime)
	})
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

// Symlink makes name a link to target.
func (f *FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "localfs.Symlink"
	return f.change(ctx, op, name, func(p place, base string) error {
		if name == pfs.Root {
			return pfs.E(op, name, pfs.Exist, nil)
		}
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return pfs.Errorf(op, name, pfs.Invalid, "a link cannot lead to %q", target)
		}
		size := int64(len(target))
		c, err := f.claim(ctx, p.trees, size, 1)
		if err != nil {
			return err
		}
		defer c.release()
		err = f.holding(named{p, base}, "", func() error {
			if err := p.dir.symlink(target, base); err != nil {
				return err
			}
			c.settle(sums{bytes: size, files: 1})
			return nil
		})
		if err != nil {
			return err
		}
		return f.syncDir(p.dir)
	})
}

// Space reports the disk that holds name, or where name would be.
func (f *FS) Space(ctx context.Context, name pfs.Path) (space pfs.Space, err error) {
	const op = "localfs.Space"
	if err := f.check(ctx, op, name); err != nil {
		return pfs.Space{}, err
	}
	d, err := f.openNearest(relative(name))
	if err != nil {
		return pfs.Space{}, fail(op, name, err)
	}
	defer d.Close()
	space, err = d.space()
	return space, fail(op, name, err)
}

// openNearest opens the last directory that there is on the way down to rel.
func (f *FS) openNearest(rel string) (dir, error) {
	d, err := f.openDir("")
	if err != nil {
		return nil, err
	}
	for name := range elements(rel) {
		next, err := d.open(name)
		if err != nil && passed(err) {
			return d, nil
		}
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}
