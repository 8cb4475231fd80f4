//go:build ceph

package cephfs

import (
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// handle is an open file of one mount. It counts its users: the file that opened it, and each
// operation that uses it. The last user closes it, since an abandoned operation may still use it.
type handle struct {
	m     *mount
	in    *cInode
	fh    *cFh
	owner uint64 // of its locks

	users atomic.Int64
}

// lastOwner numbers the owners of locks.
var lastOwner atomic.Uint64

// openAs opens name of d. flags are those of open(2); every type of file is accepted.
func (d *dir) openAs(name string, flags int) (h *handle, st stat, err error) {
	in, st, err := d.lookup(name)
	if err != nil {
		return nil, stat{}, err
	}
	h = newHandle(d.c.m, in)
	h.fh, err = ask(d.c, func(m *cMount, p *cPerms) (*cFh, error) { return openInode(m, in, flags, p) })
	if err != nil {
		d.c.release(in)
		return nil, stat{}, err
	}
	return h, st, nil
}

// create makes the file name, which must not exist, and opens it.
func (d *dir) create(name string, mode uint32, flags int) (h *handle, st stat, err error) {
	h = newHandle(d.c.m, nil)
	err = d.c.once(func(m *cMount, p *cPerms) (err error) {
		h.in, h.fh, st, err = create(m, d.in, name, mode, flags, p)
		return err
	}, d.place(name))
	if err != nil {
		return nil, stat{}, err
	}
	return h, st, nil
}

func newHandle(m *mount, in *cInode) *handle {
	h := &handle{m: m, in: in, owner: lastOwner.Add(1)}
	h.users.Store(1)
	return h
}

// hold adds a user.
func (h *handle) hold() { h.users.Add(1) }

// tryHold adds a user if the handle is still open, and reports whether it is.
func (h *handle) tryHold() bool {
	for n := h.users.Load(); n > 0; n = h.users.Load() {
		if h.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// drop removes a user. The locks end when the file is closed.
func (h *handle) drop() { _ = h.close() }

// close removes a user, and returns errForgotten if a session ended and forgot changes of the file.
// libcephfs may report that only at the close, so only the last user gets the error.
func (h *handle) close() error {
	if h.users.Add(-1) > 0 {
		return nil
	}
	if err := h.m.enter(); err != nil {
		return err
	}
	defer h.m.leave()
	err := closeFh(h.m.c, h.fh)
	h.m.put(h.in)
	return unforgotten(err)
}

func (h *handle) stat(c *call) (stat, error) {
	return ask(c, func(m *cMount, p *cPerms) (stat, error) { return getattr(m, h.in, p) })
}

// set makes a change. The MDS sets the time of a file whose size changes, so other times are set
// after the size.
func (h *handle) set(c *call, ch change) error {
	if ch.size != nil && (ch.mtime != nil || ch.atime != nil) {
		if err := h.set(c, change{size: ch.size}); err != nil {
			return err
		}
		ch.size = nil
	}
	err := c.lib(func(m *cMount, p *cPerms) error { return setattr(m, h.in, ch, p) })
	if err == nil && ch.size != nil && *ch.size > 0 {
		// libcephfs may keep a greater length to itself. If it died, the MDS would find only the bytes.
		err = unforgotten(c.lib(func(m *cMount, _ *cPerms) error { return syncInode(m, h.in) }))
	}
	return err
}

func (h *handle) xattr(c *call, name string) ([]byte, error) {
	return ask(c, func(m *cMount, p *cPerms) ([]byte, error) { return getxattr(m, h.in, name, digest.MaxMark, p) })
}

func (h *handle) setXattr(c *call, name string, value []byte) error {
	return c.lib(func(m *cMount, p *cPerms) error { return setxattr(m, h.in, name, value, 0, p) })
}

func (h *handle) removeXattr(c *call, name string) error {
	return c.lib(func(m *cMount, p *cPerms) error { return removexattr(m, h.in, name, p) })
}

// lock sets or releases the lock of the file, and returns EAGAIN if another owner has it.
func (h *handle) lock(c *call, kind int) error {
	return c.lib(func(m *cMount, _ *cPerms) error { return setlk(m, h.fh, kind, 0, 0, h.owner) })
}

// read reads until p is full or the file ends.
func (h *handle) read(c *call, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := ask(c, func(m *cMount, _ *cPerms) (int, error) { return read(m, h.fh, p[n:], off+int64(n)) })
		n += k
		if err != nil || k == 0 {
			return n, err
		}
	}
	return n, nil
}

// write writes all of p.
func (h *handle) write(c *call, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := ask(c, func(m *cMount, _ *cPerms) (int, error) { return write(m, h.fh, p[n:], off+int64(n)) })
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// openInode opens the file that from describes on another mount: by its inode, so that its name
// does not matter, or, if the cluster does not find that, by its old name. If the file is missing
// it returns gone.
func (c *call) openInode(name pfs.Path, from stat, flags int, gone error) (*handle, error) {
	h := newHandle(c.m, nil)
	err := c.lib(func(m *cMount, p *cPerms) (err error) {
		if h.in, err = lookupInode(m, from.ino, from.snap); err != nil {
			return err
		}
		if h.fh, err = openInode(m, h.in, flags, p); err != nil {
			c.m.put(h.in)
		}
		return err
	})
	if err == nil || lost(err) || kindOf(err) == pfs.Canceled {
		return h, err
	}
	return c.openSame(name, from, flags, gone)
}

// openSame opens name on another mount, if it is still the file that from describes; otherwise it
// returns gone.
func (c *call) openSame(name pfs.Path, from stat, flags int, gone error) (*handle, error) {
	d, base, err := c.parent(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	h, st, err := d.openAs(base, flags)
	if missing(err) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	if !st.same(from) {
		h.drop()
		return nil, gone
	}
	return h, nil
}

// opened is an open file as its user sees it: a handle of the current mount, which is reopened
// after a change of mounts.
type opened struct {
	again func(c *call) (*handle, error)

	mu     sync.Mutex
	h      *handle
	closed bool
}

// use returns the handle for one operation, which drops it.
func (o *opened) use(c *call) (*handle, error) {
	o.mu.Lock()
	h, closed := o.h, o.closed
	if h != nil && h.m == c.m && !closed {
		h.hold()
	}
	o.mu.Unlock()
	switch {
	case closed:
		return nil, pfs.Closed
	case h != nil && h.m == c.m:
		return h, nil
	}
	h, err := o.again(c)
	if err != nil {
		return nil, err
	}
	return o.replace(h), nil
}

// replace puts h in the place of the handle of a lost mount, unless another operation was faster.
// It returns the handle to use.
func (o *opened) replace(h *handle) *handle {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return h // for this operation alone
	case o.h != nil && o.h.m == h.m:
		h.drop()
		o.h.hold()
		return o.h
	case o.h != nil:
		o.h.drop()
	}
	o.h = h
	h.hold()
	return h
}

// lose drops h, so that the next operation opens the file again.
func (o *opened) lose(h *handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.h == h {
		o.h = nil
		h.drop()
	}
}

// take returns the open handle, which the caller must close, or nil if none is open. The next
// operation opens the file again.
func (o *opened) take() *handle {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.h
	o.h = nil
	return h
}

// close ends the use and returns the user's handle, or nil.
func (o *opened) close() *handle {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.h
	o.h, o.closed = nil, true
	return h
}
