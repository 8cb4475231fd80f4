//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// inPlace is an open file that is changed in place. It is bound to an inode, and continues with it
// on another mount.
type inPlace struct {
	rules.Handle
	fs   FS
	from stat
	file opened

	mu       sync.Mutex
	unmarked bool
	unsynced *mount // of the writes since the last Sync, nil if there are none
}

var _ pfs.Handle = (*inPlace)(nil)

// errStale reports that the file of a handle cannot be found again.
var errStale = pfs.Errorf("cephfs.Handle", "", pfs.Stale, "the file was removed, and its connection is lost")

// OpenHandle opens the file name. The first change through the handle drops the file's stored
// digest.
func (f FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := f.openHandle(ctx, "cephfs.OpenHandle", name, flags, perm)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (f FS) openHandle(ctx context.Context, op string, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (*inPlace, error) {
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	var changed []pfs.Path
	if flags&pfs.OpenWrite != 0 {
		if err := writable(op, name); err != nil {
			return nil, err
		}
		changed = []pfs.Path{name}
	}
	e, err := changeAt(ctx, f, op, name, changed, func(d *dir, base string) (*inPlace, error) {
		e := &inPlace{Handle: rules.Handle{Name: name, Flags: flags}, fs: f}
		h, err := e.open(d, base, op, perm)
		if err != nil {
			return nil, err
		}
		e.file.h, e.file.again = h, e.openAgain
		return e, nil
	}, func(e *inPlace) { e.file.close().drop() })
	if err != nil {
		return nil, err
	}
	if flags&pfs.OpenTruncate != 0 {
		if err := e.set(ctx, op, change{size: new(int64)}); err != nil {
			e.Close(ctx)
			return nil, err
		}
	}
	return e, nil
}

// open opens base, or makes it.
func (e *inPlace) open(d *dir, base, op string, perm fs.FileMode) (h *handle, err error) {
	for {
		if e.Flags&pfs.OpenExclusive == 0 {
			h, e.from, err = d.openRegular(base, op, e.Name, e.libFlags())
			switch {
			case errors.Is(err, pfs.Unsupported):
				return nil, pfs.E(op, e.Name, pfs.Invalid, errors.Unwrap(err))
			case !missing(err) || e.Flags&pfs.OpenCreate == 0:
				return h, err
			}
		}
		err = d.durably(func() (err error) {
			h, e.from, err = d.createFor(base, perm, e.libFlags()|syscall.O_CREAT|syscall.O_EXCL, e.fs.given())
			return err
		})
		if !errors.Is(err, syscall.EEXIST) || e.Flags&pfs.OpenExclusive != 0 {
			return h, err
		}
		// Another process has just made it.
		if err := d.c.goOn(); err != nil {
			return nil, err
		}
	}
}

// libFlags returns the flags for libcephfs. To append, only the length must be readable.
func (e *inPlace) libFlags() int {
	switch e.Flags & (pfs.OpenRead | pfs.OpenWrite) {
	case pfs.OpenRead:
		return syscall.O_RDONLY
	case pfs.OpenWrite:
		return syscall.O_WRONLY
	}
	return syscall.O_RDWR
}

// openAgain opens the file on another mount, under its current name.
func (e *inPlace) openAgain(c *call) (*handle, error) {
	return c.openInode(e.Name, e.from, e.libFlags(), errStale)
}

// onOpen calls what with the open file. names are those that the call changes.
func onOpen[T any](ctx context.Context, e *inPlace, op string, names []pfs.Path, what func(c *call, h *handle) (T, error)) (T, error) {
	var none T
	v, err := runChange(ctx, e.fs, names, func(c *call) (T, error) {
		h, err := e.file.use(c)
		if err != nil {
			return none, err
		}
		defer h.drop()
		v, err := what(c, h)
		if errors.Is(err, syscall.EIO) || errors.Is(err, errForgotten) {
			// libcephfs returns EIO for every call on a file whose session ended while it was
			// locked.
			e.file.lose(h)
			err = errForgotten
		}
		return v, err
	}, nil)
	return v, e.fs.failIn(ctx, op, e.Name, err)
}

// changed is onOpen for changes of the content: it drops the stored digest first, and marks the
// file as unsynced.
func (e *inPlace) changed(ctx context.Context, op string, what func(c *call, h *handle) (int, error)) (int, error) {
	return onOpen(ctx, e, op, []pfs.Path{e.Name}, func(c *call, h *handle) (int, error) {
		e.mu.Lock()
		if e.unsynced == nil {
			e.unsynced = h.m
		}
		unmarked := e.unmarked
		e.mu.Unlock()
		if !unmarked {
			if err := h.dropMark(c); err != nil {
				return 0, err
			}
			e.mu.Lock()
			e.unmarked = true
			e.mu.Unlock()
		}
		return what(c, h)
	})
}

// Stat describes the file in its current state.
func (e *inPlace) Stat(ctx context.Context) (pfs.Info, error) {
	const op = "cephfs.Handle.Stat"
	if err := e.Check(ctx, op, 0); err != nil {
		return pfs.Info{}, err
	}
	return onOpen(ctx, e, op, nil, func(c *call, h *handle) (pfs.Info, error) {
		st, err := h.stat(c)
		if err != nil {
			return pfs.Info{}, err
		}
		info := st.info(e.Name)
		if m, ok := h.mark(c, st); ok {
			info.Digest = m.Digest
		}
		return info, nil
	})
}

// Close releases the file. It waits for the cluster only if there are unsynced writes, and only
// until ctx is done.
func (e *inPlace) Close(ctx context.Context) error {
	e.End()
	h := e.file.close()
	if h == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- closeHandle(ctx, e.fs, h) }()
	e.mu.Lock()
	unsynced := e.unsynced
	e.mu.Unlock()
	if unsynced == nil {
		return nil
	}
	const op = "cephfs.Handle.Close"
	select {
	case err := <-closed:
		if err == nil && unsynced != h.m {
			err = errForgotten
		}
		return fail(op, e.Name, err)
	case <-ctx.Done():
		return fail(op, e.Name, timedOut(ctx))
	}
}

// ReadAt reads the current content of the file.
func (e *inPlace) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "cephfs.Handle.ReadAt"
	if err := e.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	return reads{fs: e.fs, op: op, name: e.Name, of: &e.file}.at(ctx, p, off)
}

// WriteAt writes p at offset off, or at the end of a file that is open to append.
func (e *inPlace) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "cephfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, e.Name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := e.Check(ctx, op, pfs.OpenWrite); err != nil {
			return n, err
		}
		part := p[n:min(len(p), n+blockSize)]
		b, err := e.fs.store.movingBuffer(ctx, len(part))
		if err != nil {
			return n, fail(op, e.Name, err)
		}
		copy(b.p, part)
		at := off + int64(n)
		k, err := e.changed(ctx, op, func(c *call, h *handle) (int, error) {
			if e.Flags&pfs.OpenAppend != 0 {
				return h.append(c, b.p)
			}
			return h.write(c, b.p, at)
		})
		b.free(err)
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// append writes p at the end of the file. libcephfs would look up the end before it has the right
// to write there, so the file is locked meanwhile. It is not repeated on another mount, because
// that could write the bytes twice.
func (h *handle) append(c *call, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	err := poll(c, "another service is appending to the file", func() error { return h.lock(c, lockExclusive) })
	if err != nil {
		return 0, err
	}
	defer h.lock(c.undo(), lockNone)
	st, err := h.stat(c)
	if err != nil {
		return 0, err
	}
	c.changed.Store(true)
	return h.write(c, p, st.size)
}

// Truncate makes the file size bytes long.
func (e *inPlace) Truncate(ctx context.Context, size int64) error {
	const op = "cephfs.Handle.Truncate"
	if err := e.CheckTruncate(ctx, op, size); err != nil {
		return err
	}
	return e.set(ctx, op, change{size: &size})
}

// SetAttr sets attributes of the file. They are durable after Sync.
func (e *inPlace) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "cephfs.Handle.SetAttr"
	if err := e.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	ch, err := changeOf(op, e.Name, mask, attrs)
	if err != nil {
		return err
	}
	return e.set(ctx, op, ch)
}

func (e *inPlace) set(ctx context.Context, op string, ch change) (err error) {
	if ch.size != nil {
		_, err = e.changed(ctx, op, func(c *call, h *handle) (int, error) { return 0, h.set(c, ch) })
		return err
	}
	_, err = onOpen(ctx, e, op, []pfs.Path{e.Name}, func(c *call, h *handle) (int, error) {
		st, err := h.stat(c)
		if err != nil {
			return 0, err
		}
		return 0, h.setMarked(c, st, ch)
	})
	return err
}

// Allocate returns Unsupported: clients of CephFS cannot reserve space.
func (e *inPlace) Allocate(ctx context.Context, off, n int64) error {
	const op = "cephfs.Handle.Allocate"
	if err := e.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return pfs.E(op, e.Name, pfs.Unsupported, nil)
}

// Sync makes the writes durable. If the mount was lost since then, it returns Unavailable once,
// because the last changes may have been forgotten.
func (e *inPlace) Sync(ctx context.Context) error {
	const op = "cephfs.Handle.Sync"
	if err := e.Check(ctx, op, 0); err != nil {
		return err
	}
	_, err := onOpen(ctx, e, op, nil, func(c *call, h *handle) (struct{}, error) {
		e.mu.Lock()
		over := e.unsynced
		e.unsynced = nil
		e.mu.Unlock()
		err := h.sync(c)
		if over != nil && err == nil && over != h.m {
			return struct{}{}, errForgotten
		}
		if over != nil && err != nil && !errors.Is(err, errForgotten) {
			e.mu.Lock()
			e.unsynced = over
			e.mu.Unlock()
		}
		return struct{}{}, err
	})
	return err
}

// dropMark removes the stored digest of a file whose content will change.
func (h *handle) dropMark(c *call) error {
	err := h.removeXattr(c, digest.MarkAttribute)
	if errors.Is(err, syscall.ENODATA) {
		return nil
	}
	return err
}
