//go:build ceph

package cephfs

import (
	"errors"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// The MDS answers a change of names before it has written the change to its journal; a sync of the
// directory waits for the journal. When the cluster ends a session, it forgets changes that are not
// in the journal, and only handles that are open then get an error. So a directory is held open
// while its names are changed.

// durably changes names in the directory. When it returns nil the changes survive a crash of the
// cluster.
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

// durablyOn changes the file or directory name itself. When it returns nil the change survives a
// crash of the cluster. Changes of other types are not waited for.
func (d *dir) durablyOn(name string, change func(in *cInode, st stat) error) error {
	return d.on(name, func(in *cInode, st stat) error {
		if !st.mode.IsDir() && !st.mode.IsRegular() {
			return change(in, st)
		}
		changed := &dir{c: d.c, in: in, lent: true}
		return changed.durably(func() error { return change(in, st) })
	})
}

// pin opens the directory itself, to sync it. It opens it as root, which costs no request to the
// cluster.
func (d *dir) pin() (fh *cFh, err error) {
	err = d.c.libAs(d.c.s.root, func(m *cMount, p *cPerms) (err error) {
		fh, err = openInode(m, d.in, syscall.O_RDONLY, p)
		return err
	})
	return fh, err
}

// unpin closes the handle of pin. It returns errForgotten if a session ended meanwhile, which
// libcephfs sometimes reports only at the close.
func (d *dir) unpin(fh *cFh) error {
	if err := d.c.m.enter(); err != nil {
		return err
	}
	defer d.c.m.leave()
	return unforgotten(closeFh(d.c.m.c, fh))
}

// sync makes the changes of names since the pin durable.
func (d *dir) sync(fh *cFh) error {
	return unforgotten(d.c.lib(func(m *cMount, _ *cPerms) error { return fsync(m, fh) }))
}

// sync makes durable all changes of the file since it was opened, of its names too.
func (h *handle) sync(c *call) error {
	return unforgotten(c.lib(func(m *cMount, _ *cPerms) error { return fsync(m, h.fh) }))
}

// errForgotten reports that the cluster ended a session and forgot changes made over it.
var errForgotten = pfs.Errorf("cephfs.sync", "", pfs.Unavailable, "the cluster ended the session, and may have forgotten the last changes: try again")

// unforgotten turns the EIO of a sync into errForgotten. It is not a disk error: each write returns
// its own.
func unforgotten(err error) error {
	if errors.Is(err, syscall.EIO) {
		return errForgotten
	}
	return err
}

// dropCaps makes the client give up its right to write to the published file in, which it has
// closed, and returns the file's stat afterwards. libcephfs would keep that right for some seconds.
// If the session ended within them, because the service dies, the MDS would set the time of the
// file to that of its bytes.
//
// The right goes to the MDS with the next change that is synced, so dropCaps makes one that has no
// effect.
func (d *dir) dropCaps(in *cInode) (st stat, err error) {
	err = d.touch(in)
	if err == nil {
		err = d.c.lib(func(m *cMount, _ *cPerms) error { return syncInode(m, in) })
	}
	if err != nil {
		return stat{}, unforgotten(err)
	}
	return ask(d.c, func(m *cMount, p *cPerms) (stat, error) { return getattr(m, in, p) })
}

// touch makes a change without an effect, and without a sync.
func (d *dir) touch(in *cInode) error {
	now := time.Now()
	return d.c.lib(func(m *cMount, p *cPerms) error { return setattr(m, in, change{atime: &now}, p) })
}

// finalized syncs a temporary that was finalized with the stored digest m, and checks its length
// and time. They may have been forgotten with a session, and no handle gets an error for that.
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
