//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
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

// madeByOther says what it means that something has the name now.
func (d *dir) madeByOther(op, base string, name pfs.Path) error {
	st, err := d.stat(base)
	if missing(err) || err == nil && !st.mode.IsDir() {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return err
}

// Symlink makes name a link to target.
func (f FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "cephfs.Symlink"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if name == pfs.Root {
			return pfs.E(op, name, pfs.Exist, nil)
		}
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return pfs.Errorf(op, name, pfs.Invalid, "a link cannot lead to %q", target)
		}
		return d.durably(func() error { return d.symlink(target, base, f.given()) })
	})
}

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
		return d.chmod(base, bits)
	})
}

// Chtime sets the modification time of name. A digest stays trusted.
func (f FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	const op = "cephfs.Chtime"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if _, err := d.statNoLink(base, op, name); err != nil {
			return err
		}
		return d.on(base, func(in *cInode, st stat) error {
			h := newHandle(d.c.m, in)
			m, ok := h.mark(d.c, st)
			ok = ok && st.mode.IsRegular()
			if err := h.set(d.c, change{mtime: &mtime}); err != nil || !ok {
				return err
			}
			m.ModTime = mtime
			return h.setAttribute(d.c, digest.MarkAttribute, m.Encode())
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
