package client

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// staged is an upload in the service.
type staged struct {
	c       *Client
	name    pfs.Path
	id      string
	unit    int64
	resumed bool
	ended   atomic.Bool
	done    atomic.Pointer[pfs.Info] // what Commit published
}

var _ pfs.LeafDigester = (*staged)(nil)

// Create begins or resumes an upload in the service.
func (c *Client) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if err := opts.Check("client.Create", name); err != nil {
		return nil, err
	}
	// With a client-made ID, a repeated Create finds its upload if the first reply was lost.
	if opts.ID == "" {
		opts.ID = pfs.NewID()
	}
	var reply wire.CreateReply
	err := c.ask(ctx, "client.Create", wire.CallCreate, name, wire.CreateRequest{Path: string(name), ID: opts.ID, Reopen: opts.Reopen, Size: opts.Size}, &reply)
	if err != nil {
		return nil, err
	}
	return &staged{c: c, name: name, id: reply.ID, unit: reply.Unit, resumed: reply.Resumed}, nil
}

func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return w.unit }

// check returns Closed after the end.
func (w *staged) check(ctx context.Context, op string) error {
	if w.ended.Load() {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	return pfs.CheckContext(ctx, op, w.name)
}

// WriteAt sends p chunk by chunk.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "client.Staged.WriteAt"
	if err := w.check(ctx, op); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (int, error) {
		m := dataMessage(op, http.MethodPut, wire.PathData, w.name, off)
		m.query.Set("id", w.id)
		return w.c.sendChunk(ctx, m, p)
	})
}

// sendChunk sends b in the message m.
func (c *Client) sendChunk(ctx context.Context, m message, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	m.kind = wire.TypeChunk
	m.body = func() (io.Reader, int64) {
		r := wire.NewChunkReader(b)
		return r, r.Len()
	}
	if err := c.send(ctx, m, func(*http.Response, func()) error { return nil }); err != nil {
		return 0, err
	}
	return len(b), nil
}

// ReadAt reads staged bytes.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "client.Staged.ReadAt"
	if err := w.check(ctx, op); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (int, error) {
		m := dataMessage(op, http.MethodGet, wire.PathData, w.name, off)
		m.query.Set("id", w.id)
		return w.c.readChunk(ctx, m, p)
	})
}

// readChunk fills p with the answer to m. If the answer is shorter, the file ends behind it.
func (c *Client) readChunk(ctx context.Context, m message, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	m.query.Set("len", strconv.Itoa(len(p)))
	err = c.send(ctx, m, func(resp *http.Response, touch func()) error {
		n = int(min(max(resp.ContentLength-int64(wire.SumSize), 0), int64(len(p))))
		return receiveChunk(resp, touch, p[:n])
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// LeafDigests returns the digests of the leaves that the service holds.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	const op = "client.Staged.LeafDigests"
	if err := w.check(ctx, op); err != nil {
		return nil, err
	}
	var reply wire.LeavesReply
	err := w.c.ask(ctx, op, wire.CallLeaves, w.name, wire.LeavesRequest{Path: string(w.name), ID: w.id, Size: size, First: first, Count: min(n, wire.MaxLeaves)}, &reply)
	if err != nil {
		return nil, err
	}
	const width = len(pfs.LeafDigest{})
	leaves := make([]pfs.LeafDigest, len(reply.Leaves)/width)
	for i := range leaves {
		copy(leaves[i][:], reply.Leaves[i*width:])
	}
	return leaves[:min(len(leaves), n)], nil
}

// Sync returns when all sent bytes are durable.
func (w *staged) Sync(ctx context.Context) error {
	const op = "client.Staged.Sync"
	if err := w.check(ctx, op); err != nil {
		return err
	}
	return w.c.ask(ctx, op, wire.CallSync, w.name, wire.StagedRequest{Path: string(w.name), ID: w.id}, nil)
}

// Commit publishes. The service checks opts.Digest against the received bytes.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "client.Staged.Commit"
	if done := w.done.Load(); done != nil {
		return *done, nil
	}
	if err := w.check(ctx, op); err != nil {
		return pfs.Info{}, err
	}
	var reply wire.InfoReply
	err := w.c.change(ctx, op, wire.CallCommit, w.name, wire.CommitRequest{
		Path: string(w.name), ID: w.id, Size: opts.Size, Mode: wire.ModeBits(opts.Perm()),
		Time: wire.NewOptionalTime(opts.ModTime), Digest: opts.Digest, NoReplace: opts.NoReplace,
	}, &reply)
	if err != nil {
		return pfs.Info{}, err
	}
	info := reply.Info.Info()
	w.done.Store(&info)
	w.ended.Store(true)
	return info, nil
}

// Suspend leaves the staged bytes in the service, which keeps them for a week.
func (w *staged) Suspend(context.Context) error {
	w.ended.Store(true)
	return nil
}

// farewell returns the context of the last request on an upload or a handle, which is sent even if
// ctx is done. If it fails, the service removes the upload or handle later.
func farewell(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Close discards the staged bytes.
func (w *staged) Close(ctx context.Context) error {
	if w.ended.Swap(true) {
		return nil
	}
	ctx, cancel := farewell(ctx)
	defer cancel()
	return w.c.ask(ctx, "client.Staged.Close", wire.CallDiscard, w.name, wire.StagedRequest{Path: string(w.name), ID: w.id}, nil)
}
