//go:build ceph

package cephfs

import (
	"context"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Chmod sets the permission bits of name. A directory keeps its special bits.
func (f FS) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "cephfs.Chmod"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		st, err := d.statNoLink(base, op, name)
		if err != nil {
			return err
		}
		bits := mode.Perm()
		if st.mode.IsDir() {
			bits |= st.mode & special
		}
		return d.durablyOn(base, func(*cInode, stat) error { return d.chmod(base, bits) })
	})
}

// Chtime sets the modification time of name. A digest stays trusted.
func (f FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	const op = "cephfs.Chtime"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if _, err := d.statNoLink(base, op, name); err != nil {
			return err
		}
		return d.durablyOn(base, func(in *cInode, st stat) error {
			h := newHandle(d.c.m, in)
			m, ok := h.mark(d.c, st)
			ok = ok && st.mode.IsRegular()
			if err := h.set(d.c, change{mtime: &mtime}); err != nil || !ok {
				return err
			}
			m.ModTime = mtime
			return h.setXattr(d.c, digest.MarkAttribute, m.Encode())
		})
	})
}

// statNoLink describes base, which must not be a link.
func (d *dir) statNoLink(base, op string, name pfs.Path) (stat, error) {
	st, err := d.stat(base)
	if err == nil && st.mode&fs.ModeSymlink != 0 {
		err = pfs.E(op, name, pfs.Symlink, nil)
	}
	return st, err
}
