package localfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Mkdir makes the directory name with exactly the bits of mode, regardless of the umask.
func (f *FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "localfs.Mkdir"
	there := false // the usual case, which needs no quota
	err := f.at(ctx, op, name, func(d dir, base string) (err error) {
		there, err = f.isThere(op, d, base, name)
		return err
	})
	if there || err != nil {
		return err
	}
	return f.change(ctx, op, name, func(p place, base string) error {
		made, err := f.mkdir(ctx, op, p, base, name, mode)
		if err != nil || !made {
			return err
		}
		return f.syncDir(p.dir)
	})
}

// mkdir makes the directory base of p without a sync, and reports whether it was new.
func (f *FS) mkdir(ctx context.Context, op string, p place, base string, name pfs.Path, mode fs.FileMode) (made bool, err error) {
	if there, err := f.isThere(op, p.dir, base, name); there || err != nil {
		return false, err
	}
	c, err := f.claim(ctx, p.trees, 0, 1)
	if err != nil {
		return false, err
	}
	defer c.release()
	release, err := f.hold(named{p, base})
	if err != nil {
		return false, err
	}
	defer release()
	if err := p.dir.mkdir(base, mode); err != nil {
		if kindOf(err) == pfs.Exist {
			if there, _ := f.isThere(op, p.dir, base, name); there { // another process has just made it
				return false, nil
			}
		}
		return false, err
	}
	c.book(sums{dirs: 1})
	return true, f.setMode(p.dir, base, mode)
}

// isThere reports whether base is a directory already. Any other type is an error.
func (f *FS) isThere(op string, d dir, base string, name pfs.Path) (bool, error) {
	st, err := f.look(d, base)
	switch {
	case missing(err):
		return false, nil
	case err != nil:
		return false, err
	case !st.mode.IsDir():
		return false, pfs.E(op, name, pfs.Exist, nil)
	}
	return true, nil
}

// setMode durably gives base the permission bits of mode, if they differ. A directory keeps its
// special bits.
func (f *FS) setMode(d dir, base string, mode fs.FileMode) error {
	st, err := d.stat(base, false)
	if err != nil {
		return err
	}
	if st.mode.Perm() == mode.Perm() {
		return nil
	}
	if err := d.chmod(base, mode.Perm()|st.mode&rules.Special); err != nil {
		return err
	}
	return f.syncEntry(d, base)
}
