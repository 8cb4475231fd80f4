package client

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// handle is a file open for changes in place.
type handle struct {
	c      *Client
	name   pfs.Path
	closed atomic.Bool

	mu   sync.Mutex
	info pfs.Info
}

// resize updates the length that Info tells.
func (h *handle) resize(size func(old int64) int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info.Size, h.info.Digest = size(h.info.Size), ""
}

// Edit opens name for changes in place.
func (c *Client) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	var reply wire.InfoReply
	err := c.ask(ctx, call{
		op: "client.Edit", method: wire.CallEdit, name: name,
		request: wire.PathRequest{Path: string(name)}, reply: &reply,
	})
	if err != nil {
		return nil, err
	}
	return &handle{c: c, name: name, info: reply.Info.Info()}, nil
}

func (h *handle) check(ctx context.Context, op string, off int64, n int) error {
	if h.closed.Load() {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	if err := pfs.CheckRange(op, h.name, off, n); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, h.name)
}

// ReadAt reads what the file holds now.
func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "client.Handle.ReadAt"
	if err := h.check(ctx, op, off, len(p)); err != nil {
		return 0, err
	}
	f, err := h.c.Open(ctx, h.name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(ctx, p, off)
}

// WriteAt writes chunk by chunk.
func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "client.Handle.WriteAt"
	if err := h.check(ctx, op, off, len(p)); err != nil {
		return 0, err
	}
	for n < len(p) {
		b := p[n:min(n+pfs.ChunkSize, len(p))]
		m := dataMessage(op, http.MethodPut, wire.PathEdit, h.name, off+int64(n))
		if err := h.c.sendChunk(ctx, m, b); err != nil {
			return n, err
		}
		n += len(b)
		h.resize(func(old int64) int64 { return max(old, off+int64(n)) })
	}
	return n, nil
}

// Truncate sets the length.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "client.Handle.Truncate"
	if err := h.check(ctx, op, size, 0); err != nil {
		return err
	}
	err := h.c.change(ctx, call{
		op: op, method: wire.CallTruncate, name: h.name,
		request: wire.TruncateRequest{Path: string(h.name), Size: size},
	})
	if err == nil {
		h.resize(func(int64) int64 { return size })
	}
	return err
}

// Sync makes what was written durable.
func (h *handle) Sync(ctx context.Context) error {
	const op = "client.Handle.Sync"
	if err := h.check(ctx, op, 0, 0); err != nil {
		return err
	}
	return h.c.ask(ctx, call{
		op: op, method: wire.CallEditSync, name: h.name,
		request: wire.PathRequest{Path: string(h.name)},
	})
}

// Info describes the file as it was when it was opened, with the length that changes
// through this handle gave it.
func (h *handle) Info() pfs.Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.info
}

func (h *handle) Close() error {
	h.closed.Store(true)
	return nil
}
