//go:build ceph

package cephfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Symlink makes name a link to target.
func (f FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "cephfs.Symlink"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if err := rules.Symlink(op, name, target); err != nil {
			return err
		}
		return d.durably(func() error { return d.symlink(target, base, f.given()) })
	})
}

// HardLink gives the file oldName the second name newName.
func (f FS) HardLink(ctx context.Context, oldName, newName pfs.Path) error {
	const op = "cephfs.HardLink"
	if err := check(ctx, op, newName); err != nil {
		return err
	}
	if err := writable(op, newName); err != nil {
		return err
	}
	return f.change(ctx, op, oldName, func(d *dir, base string) error {
		return d.durablyOn(base, func(in *cInode, st stat) error {
			if st.mode.IsDir() {
				return pfs.E(op, oldName, pfs.IsDir, nil)
			}
			to, newBase, err := d.c.parent(newName)
			if err != nil {
				return fail(op, newName, err)
			}
			defer to.Close()
			return fail(op, newName, to.durably(func() error {
				return d.c.once(func(m *cMount, p *cPerms) error { return link(m, in, to.in, newBase, p) }, to.place(newBase))
			}))
		})
	}, newName)
}

// Mknod makes a FIFO, socket or device.
func (f FS) Mknod(ctx context.Context, name pfs.Path, mode fs.FileMode, device uint64) error {
	const op = "cephfs.Mknod"
	if err := rules.Mknod(op, name, mode); err != nil {
		return err
	}
	return f.change(ctx, op, name, func(d *dir, base string) error {
		return d.durably(func() error { return d.mknod(base, mode, device, f.given()) })
	})
}

// Capabilities returns the capabilities below the directory name.
func (f FS) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	return in(ctx, f, "cephfs.Capabilities", name, func(*dir) (pfs.Capabilities, error) {
		if writable("", name) != nil {
			return pfs.CanKeepEmptyDir | pfs.CanOpenHandle | pfs.CanDigest | pfs.CanSpace | pfs.CanUsage, nil
		}
		return pfs.CanRename | pfs.CanRenameDir | pfs.CanRenameNew | pfs.CanKeepEmptyDir | pfs.CanReadStaged |
			pfs.CanOpenHandle | pfs.CanAppend | pfs.CanWriteRandom | pfs.CanSetMode | pfs.CanSetOwner | pfs.CanSetTimes | pfs.CanSetAccessTime |
			pfs.CanXattr | pfs.CanSymlink | pfs.CanHardLink | pfs.CanMknod | pfs.CanCopyInside | pfs.CanDigest |
			pfs.CanSpace | pfs.CanUsage | pfs.CanSetQuota, nil
	})
}
