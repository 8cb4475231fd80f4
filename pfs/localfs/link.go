package localfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Symlink makes name a link to target.
func (f *FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "localfs.Symlink"
	return f.change(ctx, op, name, func(p place, base string) error {
		if err := rules.Symlink(op, name, target); err != nil {
			return err
		}
		return f.makeName(ctx, p, base, int64(len(target)), func() error { return p.dir.symlink(target, base) })
	})
}

// HardLink gives the file oldName the second name newName. A quota counts each name.
func (f *FS) HardLink(ctx context.Context, oldName, newName pfs.Path) error {
	const op = "localfs.HardLink"
	if err := f.check(ctx, op, newName); err != nil {
		return err
	}
	return f.at(ctx, op, oldName, func(from dir, oldBase string) error {
		st, err := from.stat(oldBase, false)
		if err != nil {
			return err
		}
		if st.mode.IsDir() {
			return pfs.E(op, oldName, pfs.IsDir, nil)
		}
		return f.change(ctx, op, newName, func(to place, base string) error {
			return f.makeName(ctx, to, base, st.size, func() error { return from.link(oldBase, to.dir, base) })
		})
	})
}

// Mknod makes a FIFO, socket or device with exactly the permissions of mode.
func (f *FS) Mknod(ctx context.Context, name pfs.Path, mode fs.FileMode, device uint64) error {
	const op = "localfs.Mknod"
	if err := rules.Mknod(op, name, mode); err != nil {
		return err
	}
	return f.change(ctx, op, name, func(p place, base string) error {
		return f.makeName(ctx, p, base, 0, func() error {
			if err := p.dir.mknod(base, mode, device); err != nil {
				return err
			}
			return p.dir.chmod(base, mode.Perm()|mode&rules.Special)
		})
	})
}

// makeName calls a function that makes the name base of a file of size bytes. It does so within the
// quotas and durably.
func (f *FS) makeName(ctx context.Context, p place, base string, size int64, do func() error) error {
	c, err := f.claim(ctx, p.trees, size, 1)
	if err != nil {
		return err
	}
	defer c.release()
	err = f.holding(named{p, base}, "", func() error {
		if err := do(); err != nil {
			return err
		}
		c.book(sums{bytes: size, files: 1})
		return nil
	})
	if err != nil {
		return err
	}
	return f.syncDir(p.dir)
}
