//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes the directory name with exactly the bits of mode.
func (f FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "cephfs.Mkdir"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		st, err := d.stat(base)
		switch {
		case err == nil && !st.mode.IsDir():
			return pfs.E(op, name, pfs.Exist, nil)
		case err == nil || !missing(err):
			return err
		}
		err = d.durably(func() error { return d.mkdir(base, mode, f.given()) })
		if errors.Is(err, syscall.EEXIST) {
			return d.madeByOther(op, base, name)
		}
		return err
	})
}

// madeByOther returns the error, if any, when something has the name already.
func (d *dir) madeByOther(op, base string, name pfs.Path) error {
	st, err := d.stat(base)
	if missing(err) || err == nil && !st.mode.IsDir() {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return err
}
