package localfs

import (
	"context"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// handle is a file open for changes in place.
type handle struct {
	file
	fs *FS

	change sync.Mutex
	marked bool // the mark may still be there
}

// Edit opens name for changes in place.
func (s *FS) Edit(ctx context.Context, name pfs.Path) (pfs.Handle, error) {
	const op = "localfs.Edit"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	f, st, err := s.openRegular(op, name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	st.info.Digest = fileMark(f).digestOf(st.info)
	return &handle{file: file{name: name, info: st.info, f: f}, fs: s, marked: true}, nil
}

// changing takes the file for a change to a length of at least size (exactly size, if
// exact), dropping its digest first. Release it with h.mu.RUnlock.
func (h *handle) changing(ctx context.Context, op string, size int64, exact bool) error {
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	h.mu.RLock()
	if h.f == nil {
		h.mu.RUnlock()
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	h.change.Lock()
	defer h.change.Unlock()
	if h.marked {
		_ = removexattr(h.f) // there may be none; its size and time guard it too
		h.marked = false
	}
	st, err := statFile(h.f, "")
	if err == nil && (exact || size > st.info.Size) {
		err = h.fs.quotas.charge(ctx, op, h.name, size-st.info.Size, 0)
	}
	if err != nil {
		h.mu.RUnlock()
		return fail(op, h.name, err)
	}
	return nil
}

// WriteAt writes in place.
func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.WriteAt"
	if off < 0 {
		return 0, pfs.Errorf(op, h.name, pfs.Invalid, "negative offset %d", off)
	}
	if err := h.changing(ctx, op, off+int64(len(p)), false); err != nil {
		return 0, err
	}
	defer h.mu.RUnlock()
	for n < len(p) {
		if err := pfs.CheckContext(ctx, op, h.name); err != nil {
			return n, err
		}
		k, err := h.f.WriteAt(p[n:min(n+pfs.ChunkSize, len(p))], off+int64(n))
		n += k
		if err != nil {
			return n, fail(op, h.name, err)
		}
	}
	h.resize(func(old int64) int64 { return max(old, off+int64(n)) })
	return n, nil
}

// resize keeps the length that Info tells.
func (h *handle) resize(size func(old int64) int64) {
	h.change.Lock()
	defer h.change.Unlock()
	h.info.Size, h.info.Digest = size(h.info.Size), ""
}

// Info describes the file as it was when it was opened, with the length that changes
// through this handle gave it.
func (h *handle) Info() pfs.Info {
	h.change.Lock()
	defer h.change.Unlock()
	return h.info
}

// Truncate sets the length.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "localfs.Truncate"
	if size < 0 {
		return pfs.Errorf(op, h.name, pfs.Invalid, "negative size %d", size)
	}
	if err := h.changing(ctx, op, size, true); err != nil {
		return err
	}
	defer h.mu.RUnlock()
	err := h.f.Truncate(size)
	if err == nil {
		h.resize(func(int64) int64 { return size })
	}
	return fail(op, h.name, err)
}

// Sync makes what was written durable.
func (h *handle) Sync(ctx context.Context) error {
	const op = "localfs.Sync"
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.f == nil {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	return fail(op, h.name, h.f.Sync())
}
