//go:build ceph

package cephfs

import (
	"io/fs"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// mkdir makes a directory with the bits of mode and those inherited from its parent. It belongs to
// owner or, if owner is nil, to the user of the calls.
func (d *dir) mkdir(name string, mode fs.FileMode, owner *ids) error {
	return d.released(d.make(name, owner, func(m *cMount, p *cPerms) (*cInode, stat, error) {
		return mkdir(m, d.in, name, unixmode.Permissions(mode.Perm()), p)
	}))
}

// symlink makes a link; its owner is as for mkdir.
func (d *dir) symlink(target, name string, owner *ids) error {
	return d.released(d.make(name, owner, func(m *cMount, p *cPerms) (*cInode, stat, error) {
		return symlink(m, d.in, name, target, p)
	}))
}

// mknod makes a special file; its owner is as for mkdir.
func (d *dir) mknod(name string, mode fs.FileMode, device uint64, owner *ids) error {
	return d.released(d.make(name, owner, func(m *cMount, p *cPerms) (*cInode, stat, error) {
		return mknod(m, d.in, name, unixmode.Bits(mode), device, p)
	}))
}

// createFor makes the file name and opens it; its owner is as for mkdir.
func (d *dir) createFor(name string, mode fs.FileMode, flags int, owner *ids) (h *handle, st stat, err error) {
	h = newHandle(d.c.m, nil)
	h.in, err = d.make(name, owner, func(m *cMount, p *cPerms) (in *cInode, _ stat, err error) {
		in, h.fh, st, err = create(m, d.in, name, unixmode.Permissions(mode.Perm()), flags, p)
		return in, st, err
	})
	return h, st, err
}

// released releases the inode that make returned.
func (d *dir) released(in *cInode, err error) error {
	if err == nil {
		d.c.release(in)
	}
	return err
}

// make calls do as owner, so that the new file never belongs to another user. If the store denies
// that to owner, it calls do as the user of the calls and gives the result to owner.
func (d *dir) make(name string, owner *ids, do func(m *cMount, p *cPerms) (*cInode, stat, error)) (*cInode, error) {
	if owner == nil {
		in, _, err := d.makeAs(d.c.user, name, do)
		return in, err
	}
	in, st, err := d.makeAs(d.c.s.user(*owner), name, do)
	if err != nil && kindOf(err) == pfs.Permission {
		in, st, err = d.makeAs(d.c.user, name, do)
	}
	if err == nil {
		err = d.give(in, st, *owner)
		if err != nil {
			d.c.release(in)
		}
	}
	return in, err
}

func (d *dir) makeAs(w *user, name string, do func(m *cMount, p *cPerms) (*cInode, stat, error)) (in *cInode, st stat, err error) {
	err = d.c.onceAs(w, func(m *cMount, p *cPerms) (err error) {
		in, st, err = do(m, p)
		return err
	}, d.place(name))
	return in, st, err
}

// give durably gives in, which st describes, to owner.
func (d *dir) give(in *cInode, st stat, owner ids) error {
	if st.owner() == owner {
		return nil
	}
	return d.c.lib(func(m *cMount, p *cPerms) error {
		if err := setattr(m, in, change{owner: &owner}, p); err != nil {
			return err
		}
		return syncInode(m, in)
	})
}
