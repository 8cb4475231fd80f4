package localfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes the directory name with exactly the bits of mode, whatever the
// process's umask.
func (f *FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "localfs.Mkdir"
	return f.at(ctx, op, name, func(d dir, base string) error {
		made, err := f.mkdir(ctx, op, d, base, name, mode)
		if err != nil || !made {
			return err
		}
		return f.syncDir(d)
	})
}

// mkdir makes the directory base of d, but for the sync, and reports whether it was
// not there before.
func (f *FS) mkdir(ctx context.Context, op string, d dir, base string, name pfs.Path, mode fs.FileMode) (made bool, err error) {
	if st, err := f.look(d, base); err == nil {
		if !st.mode.IsDir() {
			return false, pfs.E(op, name, pfs.Exist, nil)
		}
		return false, nil
	}
	c, err := f.claim(ctx, name.Parent(), 0, 1)
	if err != nil {
		return false, err
	}
	defer c.release()
	err = d.mkdir(base, mode)
	if pfs.KindOf(fail(op, name, err)) == pfs.Exist {
		return false, f.madeByOther(op, d, base, name)
	}
	if err != nil {
		return false, err
	}
	c.settle(pfs.Usage{Dirs: 1})
	return true, setMode(d, base, mode)
}

// madeByOther says what it means that something has the name now.
func (f *FS) madeByOther(op string, d dir, base string, name pfs.Path) error {
	st, err := f.look(d, base)
	if missing(err) || err == nil && !st.mode.IsDir() {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return err
}

// setMode gives base the permission bits of mode, if it has others. A directory
// keeps its special bits.
func setMode(d dir, base string, mode fs.FileMode) error {
	st, err := d.stat(base, false)
	if err != nil {
		return err
	}
	if st.mode.Perm() == mode.Perm() {
		return nil
	}
	return d.chmod(base, mode.Perm()|st.mode&special)
}
