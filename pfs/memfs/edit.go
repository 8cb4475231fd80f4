package memfs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// Edit opens the file name for changes in place.
func (s *FS) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	const op = "memfs.Edit"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.findFile(op, name)
	if err == nil {
		err = s.may(op, name, n, read|change)
	}
	if err != nil {
		return nil, err
	}
	return &handle{fs: s, name: name, node: n}, nil
}

// handle is a file open for changes in place. It follows the file through a
// rename, and answers Conflict to a change once the file was removed or replaced,
// for nobody would see it.
type handle struct {
	fs     *FS
	name   pfs.Path
	node   *node
	closed atomic.Bool
}

var _ pfs.Edited = (*handle)(nil)

func (h *handle) check(ctx context.Context, op string) error {
	if h.closed.Load() {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	return pfs.CheckContext(ctx, op, h.name)
}

func (h *handle) Info() pfs.Info {
	h.fs.mu.RLock()
	defer h.fs.mu.RUnlock()
	return h.node.info(h.name.Base())
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.Handle.ReadAt"
	if err := h.check(ctx, op); err != nil {
		return 0, err
	}
	h.fs.mu.RLock()
	data := h.node.data
	h.fs.mu.RUnlock()
	return readChunks(ctx, op, h.name, data.readAt, p, off)
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "memfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, h.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := h.check(ctx, op); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		part, at := p[n:min(len(p), n+pfs.ChunkSize)], off+int64(n)
		err := h.change(op, func(data content) content {
			data = data.edited(at, len(part))
			data.writeAt(part, at)
			return data
		})
		if err != nil {
			return n, err
		}
		n += len(part)
	}
}

func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "memfs.Handle.Truncate"
	if err := h.check(ctx, op); err != nil {
		return err
	}
	if size < 0 {
		return pfs.Errorf(op, h.name, pfs.Invalid, "negative size %d", size)
	}
	return h.change(op, func(data content) content { return data.resized(size) })
}

// change makes edit's answer the content of the file, with all that depends on it.
func (h *handle) change(op string, edit func(content) content) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n := h.node
	if n.parent == nil {
		return pfs.Errorf(op, h.name, pfs.Conflict, "the file was removed or replaced: open it again")
	}
	data := edit(n.data)
	delta := tally{bytes: data.size - n.data.size}
	if err := h.fs.checkSpace(op, h.name, delta.bytes); err != nil {
		return err
	}
	if err := n.parent.checkQuota(op, h.name, delta); err != nil {
		return err
	}
	n.data, n.version, n.digest, n.madeBy = data, h.fs.tick(), "", ""
	n.mtime = now()
	n.parent.add(delta)
	return nil
}

func (h *handle) Sync(ctx context.Context) error { return h.check(ctx, "memfs.Handle.Sync") }

func (h *handle) Close() error {
	h.closed.Store(true)
	return nil
}
