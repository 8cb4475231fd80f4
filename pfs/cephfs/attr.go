//go:build ceph

package cephfs

import (
	"context"
	"io/fs"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// SetAttr sets the attributes of attrs that mask names, all or none.
func (f FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "cephfs.SetAttr"
	ch, err := changeOf(op, name, mask, attrs)
	if err != nil {
		return err
	}
	return f.change(ctx, op, name, func(d *dir, base string) error {
		return d.durablyOn(base, func(in *cInode, st stat) error {
			if err := rules.SetAttr(op, name, st.mode, mask); err != nil {
				return err
			}
			if st.mode.IsDir() && ch.mode != nil && attrs.Mode&rules.Special == 0 {
				bits := *ch.mode | unixmode.Permissions(st.mode&rules.Special)
				ch.mode = &bits
			}
			return newHandle(d.c.m, in).setMarked(d.c, st, ch)
		})
	})
}

// changeOf checks the arguments of SetAttr before anything changes.
func changeOf(op string, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) (ch change, err error) {
	if err := mask.Check(op, name, attrs); err != nil {
		return ch, err
	}
	if mask&pfs.AttrReplication != 0 {
		return ch, pfs.Errorf(op, name, pfs.Unsupported, "the pool determines the replication")
	}
	if mask&pfs.AttrMode != 0 {
		bits := unixmode.Permissions(attrs.Mode)
		ch.mode = &bits
	}
	if mask&pfs.AttrSize != 0 {
		ch.size = &attrs.Size
	}
	if mask&pfs.AttrModTime != 0 {
		ch.mtime = &attrs.ModTime
	}
	if mask&pfs.AttrAccessTime != 0 {
		ch.atime = &attrs.AccessTime
	}
	owner := ids{keepID, keepID}
	if mask&pfs.AttrUID != 0 {
		owner.uid = attrs.UID
	} else if mask&pfs.AttrOwner != 0 {
		owner.uid, err = number(op, name, attrs.Owner)
	}
	if mask&pfs.AttrGID != 0 {
		owner.gid = attrs.GID
	} else if mask&pfs.AttrGroup != 0 && err == nil {
		owner.gid, err = number(op, name, attrs.Group)
	}
	if owner != (ids{keepID, keepID}) {
		ch.owner = &owner
	}
	return ch, err
}

// number returns the number of an owner or group.
func number(op string, name pfs.Path, owner string) (uint32, error) {
	n, err := strconv.ParseUint(owner, 10, 32)
	if err != nil {
		return 0, pfs.Errorf(op, name, pfs.Invalid, "owner %.80q: a CephFS knows users and groups only by number", owner)
	}
	return uint32(n), nil
}

// setMarked changes the file that st describes. A new size drops its stored digest; a new time
// updates it.
func (h *handle) setMarked(c *call, st stat, ch change) error {
	if !st.mode.IsRegular() {
		return h.set(c, ch)
	}
	if ch.size != nil {
		if err := h.dropMark(c); err != nil {
			return err
		}
		return h.set(c, ch)
	}
	if ch.mtime == nil {
		return h.set(c, ch)
	}
	m, ok := h.mark(c, st)
	if err := h.set(c, ch); err != nil || !ok {
		return err
	}
	m.ModTime = *ch.mtime
	return h.setXattr(c, digest.MarkAttribute, m.Encode())
}

// Xattr returns the value of the extended attribute attr.
func (f FS) Xattr(ctx context.Context, name pfs.Path, attr string) ([]byte, error) {
	const op = "cephfs.Xattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return nil, err
	}
	return attributed(ctx, f, op, name, func(c *call, in *cInode) ([]byte, error) {
		value, err := ask(c, func(m *cMount, p *cPerms) ([]byte, error) { return getxattr(m, in, attr, maxXattrs, p) })
		return slices.Clone(value), err
	})
}

// ListXattr returns the names of the extended attributes that users may use.
func (f FS) ListXattr(ctx context.Context, name pfs.Path) ([]string, error) {
	return attributed(ctx, f, "cephfs.ListXattr", name, func(c *call, in *cInode) ([]string, error) {
		names, err := ask(c, func(m *cMount, p *cPerms) ([]string, error) { return listxattr(m, in, p) })
		return rules.UserXattrs(names), err
	})
}

// SetXattr sets the extended attribute attr.
func (f FS) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	return f.changeXattr(ctx, "cephfs.SetXattr", name, attr, func(m *cMount, in *cInode, p *cPerms) error {
		return setxattr(m, in, attr, value, flags, p)
	})
}

// RemoveXattr removes the extended attribute attr.
func (f FS) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	return f.changeXattr(ctx, "cephfs.RemoveXattr", name, attr, func(m *cMount, in *cInode, p *cPerms) error {
		return removexattr(m, in, attr, p)
	})
}

func (f FS) changeXattr(ctx context.Context, op string, name pfs.Path, attr string, do func(m *cMount, in *cInode, p *cPerms) error) error {
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return err
	}
	return f.change(ctx, op, name, func(d *dir, base string) error {
		return d.durablyOn(base, func(in *cInode, st stat) error {
			if st.mode&fs.ModeSymlink != 0 {
				return pfs.E(op, name, pfs.Symlink, nil)
			}
			return d.c.lib(func(m *cMount, p *cPerms) error {
				d.c.changed.Store(true)
				return do(m, in, p)
			})
		})
	})
}

// attributed calls do with the inode of name, which must not be a link.
func attributed[T any](ctx context.Context, f FS, op string, name pfs.Path, do func(c *call, in *cInode) (T, error)) (T, error) {
	return at(ctx, f, op, name, func(d *dir, base string) (v T, err error) {
		err = d.on(base, func(in *cInode, st stat) error {
			if st.mode&fs.ModeSymlink != 0 {
				return pfs.E(op, name, pfs.Symlink, nil)
			}
			v, err = do(d.c, in)
			return err
		})
		return v, err
	}, nil)
}
