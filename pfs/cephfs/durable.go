//go:build ceph

package cephfs

import (
	"errors"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// The MDS answers a change of names before it has written it down, and whoever syncs the directory waits
// for that. But when the cluster ends a session, what was not written yet is forgotten, and only handles
// that were open then are told. So a directory is open while its names are changed.

// durably makes changes of names in the directory, which survive a crash of the cluster when it returns
// nil.
func (d *dir) durably(change func() error) error {
	fh, err := d.pin()
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		d.unpin(fh)
		return err
	}
	err = d.sync(fh)
	if lost := d.unpin(fh); err == nil {
		err = lost
	}
	return err
}

// durablyOn makes a change of what has a name in the directory itself, which survives a crash of the
// cluster when it returns nil. What is neither a file nor a directory cannot be waited for.
func (d *dir) durablyOn(name string, change func(in *cInode, st stat) error) error {
	return d.on(name, func(in *cInode, st stat) error {
		if !st.mode.IsDir() && !st.mode.IsRegular() {
			return change(in, st)
		}
		changed := &dir{c: d.c, in: in, lent: true}
		return changed.durably(func() error { return change(in, st) })
	})
}

// pin opens the directory itself. That asks nobody, neither the cluster nor for permission: nothing is
// read by it.
func (d *dir) pin() (fh *cFh, err error) {
	err = d.c.libAs(d.c.s.root, func(m *cMount, p *cPerms) (err error) {
		fh, err = openInode(m, d.in, syscall.O_RDONLY, p)
		return err
	})
	return fh, err
}

// unpin ends a pin, and answers errForgotten if a session ended meanwhile: some of that is told by the
// close alone.
func (d *dir) unpin(fh *cFh) error {
	if err := d.c.m.enter(); err != nil {
		return err
	}
	defer d.c.m.leave()
	return unforgotten(closeFh(d.c.m.c, fh))
}

// sync returns once the changes of names since the pin are durable.
func (d *dir) sync(fh *cFh) error {
	return unforgotten(d.c.lib(func(m *cMount, _ *cPerms) error { return fsync(m, fh) }))
}

// sync returns once the file is durable with all that was done to it since it was opened, its names too.
func (h *handle) sync(c *call) error {
	return unforgotten(c.lib(func(m *cMount, _ *cPerms) error { return fsync(m, h.fh) }))
}

// errForgotten says that the cluster ended a session and forgot what was asked of it over it.
var errForgotten = pfs.Errorf("cephfs.sync", "", pfs.Unavailable, "the cluster ended the session, and may have forgotten what was asked of it last: try again")

// unforgotten gives the error of a sync its meaning: each write has its own, so EIO is not the disk's.
func unforgotten(err error) error {
	if errors.Is(err, syscall.EIO) {
		return errForgotten
	}
	return err
}

// finalized is sync for a temporary that has got what m says, and looks that it still has it: of length,
// time and mode that are forgotten no handle is told.
func (h *handle) finalized(c *call, m digest.Mark) error {
	if err := h.sync(c); err != nil {
		return err
	}
	st, err := h.stat(c)
	if err == nil && !m.Of(st.size, st.mtime) {
		return errForgotten
	}
	return err
}
