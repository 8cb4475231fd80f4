//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"sync"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// editing is a file that is changed in place.
type editing struct {
	fs   FS
	name pfs.Path
	from stat
	file opened

	mu       sync.Mutex
	unmarked bool
}

var _ pfs.Edited = (*editing)(nil)

// Edit opens the existing file name for changes in place. The first change drops the digest that is
// kept with it.
func (f FS) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	const op = "cephfs.Edit"
	if err := writable(op, name); err != nil {
		return nil, err
	}
	e, err := at(ctx, f, op, name, func(d *dir, base string) (*editing, error) {
		h, st, err := d.openRegular(base, op, name, syscall.O_RDWR)
		if err != nil {
			return nil, err
		}
		e := &editing{fs: f, name: name, from: st}
		e.file.h, e.file.again = h, e.openAgain
		return e, nil
	}, func(e *editing) { e.file.close().drop() })
	if err != nil {
		return nil, err
	}
	return e, nil
}

// openAgain opens the file on another mount, if it is still the one that was opened.
func (e *editing) openAgain(c *call) (*handle, error) {
	d, base, err := c.parent(e.name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	h, st, err := d.openRegular(base, "cephfs.Handle", e.name, syscall.O_RDWR)
	if missing(err) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, err
	}
	if !st.same(e.from) {
		h.drop()
		return nil, errReplaced
	}
	return h, nil
}

// onOpen calls what with the open file. names are those that the call changes.
func onOpen[T any](ctx context.Context, e *editing, op string, names []pfs.Path, what func(c *call, h *handle) (T, error)) (T, error) {
	var none T
	if err := pfs.CheckContext(ctx, op, e.name); err != nil {
		return none, err
	}
	v, err := runChange(ctx, e.fs, names, func(c *call) (T, error) {
		h, err := e.file.use(c)
		if err != nil {
			return none, err
		}
		defer h.drop()
		return what(c, h)
	}, nil)
	return v, fail(op, e.name, err)
}

// Info describes the file as it is now, or as it was opened if it cannot be asked.
func (e *editing) Info() pfs.Info {
	info, err := onOpen(context.Background(), e, "cephfs.Handle.Info", nil, func(c *call, h *handle) (pfs.Info, error) {
		st, err := h.stat(c)
		info := st.info(e.name)
		if m, ok := h.mark(c, st); ok {
			info.Digest = m.Digest
		}
		return info, err
	})
	if err != nil {
		return e.from.info(e.name)
	}
	return info
}

// Close releases the file. Changes since the last Sync may be lost.
func (e *editing) Close() error {
	_ = closeHandle(e.fs, e.file.close())
	return nil
}

func (e *editing) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return reads{fs: e.fs, op: "cephfs.Handle.ReadAt", name: e.name, of: &e.file}.at(ctx, p, off)
}

func (e *editing) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "cephfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, e.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		part := p[n:min(len(p), n+blockSize)]
		b, err := e.fs.store.movingBuffer(ctx, len(part))
		if err != nil {
			return n, fail(op, e.name, err)
		}
		copy(b.p, part)
		at := off + int64(n)
		k, err := onOpen(ctx, e, op, []pfs.Path{e.name}, func(c *call, h *handle) (int, error) {
			if err := e.unmark(c, h); err != nil {
				return 0, err
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

// Truncate makes the file size bytes long.
func (e *editing) Truncate(ctx context.Context, size int64) error {
	const op = "cephfs.Handle.Truncate"
	if size < 0 {
		return pfs.Errorf(op, e.name, pfs.Invalid, "negative size %d", size)
	}
	_, err := onOpen(ctx, e, op, []pfs.Path{e.name}, func(c *call, h *handle) (struct{}, error) {
		if err := e.unmark(c, h); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, h.set(c, change{size: &size})
	})
	return err
}

// Sync returns when what was written survives a crash of the store.
func (e *editing) Sync(ctx context.Context) error {
	_, err := onOpen(ctx, e, "cephfs.Handle.Sync", nil, func(c *call, h *handle) (struct{}, error) {
		return struct{}{}, h.sync(c)
	})
	return err
}

// unmark drops the mark before the first change.
func (e *editing) unmark(c *call, h *handle) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unmarked {
		return nil
	}
	err := h.removeXattr(c, digest.MarkAttribute)
	if err != nil && !errors.Is(err, syscall.ENODATA) {
		return err
	}
	e.unmarked = true
	return nil
}
