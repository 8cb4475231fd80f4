package aferofs

import (
	"context"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Edit opens the file name for changes in place. When the file is removed or
// replaced, changes answer Conflict: nobody would see them.
func (s *store) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	const op = "aferofs.Edit"
	if err := s.begin(ctx, op, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fi, err := s.findFile(op, name)
	if err != nil {
		return nil, err
	}
	f, err := s.afs.OpenFile(s.real(name), os.O_RDWR, 0)
	if err != nil {
		return nil, fail(op, name, err)
	}
	h := &handle{s: s, name: name, at: name, f: f, info: s.info(name, fi)}
	s.edits[h] = struct{}{}
	return h, nil
}

// handle is a file open for changes.
type handle struct {
	s    *store
	name pfs.Path // as it was opened

	// mu is for one access at a time, and is taken before store.mu.
	mu     sync.Mutex
	f      afero.File
	info   pfs.Info
	closed bool

	// Guarded by store.mu.
	at   pfs.Path // where the file is now
	gone bool
}

var _ pfs.Edited = (*handle)(nil)

func (h *handle) Info() pfs.Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.info
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return inChunks(ctx, "aferofs.Handle.ReadAt", h.name, p, off, h.read)
}

// read reads one chunk.
func (h *handle) read(op string, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0, pfs.E(op, h.name, pfs.Closed, nil)
	}
	return readAt(op, h.name, h.f, p, off)
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	return inChunks(ctx, "aferofs.Handle.WriteAt", h.name, p, off, h.write)
}

// write writes one chunk.
func (h *handle) write(op string, p []byte, off int64) (n int, err error) {
	err = h.change(op, func() (err error) {
		n, err = h.f.WriteAt(p, off)
		return err
	})
	return n, err
}

func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "aferofs.Handle.Truncate"
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	if size < 0 {
		return pfs.Errorf(op, h.name, pfs.Invalid, "negative size %d", size)
	}
	return h.change(op, func() error { return h.f.Truncate(size) })
}

// change does one change to the file and notes it under the name that the file has
// now, and keeps meanwhile.
func (h *handle) change(op string, do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s.mu.RLock()
	defer h.s.mu.RUnlock()
	if h.closed {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	if h.gone {
		return pfs.Errorf(op, h.name, pfs.Conflict, "the file was removed or replaced: open it again")
	}
	if err := do(); err != nil {
		return fail(op, h.name, err)
	}
	fi, err := h.f.Stat()
	if err != nil {
		return fail(op, h.name, err)
	}
	h.info.Size = fi.Size()
	h.s.generations.changed(h.at, fi)
	return nil
}

func (h *handle) Sync(ctx context.Context) error {
	const op = "aferofs.Handle.Sync"
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	return fail(op, h.name, h.f.Sync())
}

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	delete(h.s.edits, h)
	return fail("aferofs.Handle.Close", h.name, h.closeKeepingTime())
}

// closeKeepingTime closes the file and takes back the time of now that afero's
// memory gives it with that.
func (h *handle) closeKeepingTime() error {
	fi, err := h.f.Stat()
	if err != nil || h.gone {
		return h.f.Close()
	}
	mtime := fi.ModTime()
	if err := h.f.Close(); err != nil || !inMemory(h.f) {
		return err
	}
	return h.s.afs.Chtimes(h.s.real(h.at), mtime, mtime)
}
