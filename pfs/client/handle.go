package client

import (
	"context"
	"io/fs"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// handle is an open file in the service.
type handle struct {
	c      *Client
	wire   wire.Handle
	closed atomic.Bool
	used   atomic.Bool // a request renewed the lease since the last renewal

	mu       sync.Mutex
	unsynced unsynced
}

// unsynced records which instances of the service have changes that are not synced.
type unsynced struct {
	instance string // of the service; empty for no changes
	apart    bool   // another instance has some, too
}

// add adds the changes of v.
func (u *unsynced) add(v unsynced) {
	u.apart = u.apart || v.apart || u.instance != "" && v.instance != "" && u.instance != v.instance
	if v.instance != "" {
		u.instance = v.instance
	}
}

// OpenHandle opens a file in the service.
func (c *Client) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	const op = "client.OpenHandle"
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	h := &handle{c: c, wire: wire.Handle{ID: pfs.NewID(), Path: string(name), Flags: uint8(flags)}}
	id, named := pfs.HandleIDOf(ctx)
	if named {
		if h.wire.ID = id.ID; id.Continue {
			h.wire.File = id.File
			if err := h.resume(ctx); err != nil {
				return nil, err
			}
			return h, nil
		}
	}
	var reply wire.OpenReply
	err := c.change(ctx, op, wire.CallOpen, name, wire.OpenRequest{Handle: h.wire, Mode: wire.ModeBits(perm.Perm())}, &reply)
	if err != nil {
		return nil, err
	}
	h.wire.File = reply.Info.ID
	if id.Opened != nil {
		*id.Opened = reply.Info.Info()
	}
	c.leases.add(c, h, time.Duration(reply.Lease)*time.Second)
	return h, nil
}

// usualLease is the lease of a handle that another program has opened.
const usualLease = time.Minute

// resume makes h the handle of its ID, which the service holds or opens again.
func (h *handle) resume(ctx context.Context) error {
	if _, err := h.Stat(ctx); err != nil {
		return err
	}
	h.c.leases.add(h.c, h, usualLease)
	return nil
}

func (h *handle) name() pfs.Path { return pfs.Path(h.wire.Path) }

// check refuses an operation that the handle does not allow: it must be open with the flags need.
func (h *handle) check(ctx context.Context, op string, need pfs.OpenFlags, off int64, n int) error {
	if h.closed.Load() {
		return pfs.E(op, h.name(), pfs.Closed, nil)
	}
	if need&^pfs.OpenFlags(h.wire.Flags) != 0 {
		return pfs.Errorf(op, h.name(), pfs.Permission, "the handle is not open for that")
	}
	if err := pfs.CheckRange(op, h.name(), off, n); err != nil {
		return err
	}
	h.used.Store(true)
	return pfs.CheckContext(ctx, op, h.name())
}

// message is a request for, or with, the chunk at off.
func (h *handle) message(op, method, path string, off int64) message {
	m := dataMessage(op, method, path, h.name(), off)
	m.query.Set("handle", h.wire.ID)
	m.query.Set("flags", strconv.Itoa(int(h.wire.Flags)))
	m.query.Set("file", strconv.FormatUint(h.wire.File, 10))
	return m
}

// ReadAt reads the current content of the file.
func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "client.Handle.ReadAt"
	if err := h.check(ctx, op, pfs.OpenRead, off, len(p)); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, h.name(), p, off, func(p []byte, off int64) (int, error) {
		return h.c.readChunk(ctx, h.message(op, http.MethodGet, wire.PathData, off), p)
	})
}

// WriteAt writes chunk by chunk.
func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "client.Handle.WriteAt"
	if err := h.check(ctx, op, pfs.OpenWrite, off, len(p)); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, h.name(), p, off, func(p []byte, off int64) (int, error) {
		m := h.message(op, http.MethodPut, wire.PathWrite, off)
		m.id = pfs.NewID()
		instance := ""
		m.observe = func(resp *http.Response, sent bool) {
			if resp != nil && resp.Header.Get(wire.HeaderProtocol) != "" {
				instance = resp.Header.Get(wire.HeaderInstance)
			} else if sent {
				m.query.Set("again", "1") // in all further attempts
			}
		}
		n, err := h.c.sendChunk(ctx, m, p)
		h.wrote(instance)
		return n, err
	})
}

// wrote records that an instance of the service has a change that is not synced.
func (h *handle) wrote(instance string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unsynced.add(unsynced{instance: instance})
}

// sync makes a call that syncs. It returns Stale if another instance had changes. Concurrent
// writes may not be synced.
func (h *handle) sync(ctx context.Context, op, method string) error {
	h.mu.Lock()
	before := h.unsynced
	h.unsynced = unsynced{}
	h.mu.Unlock()
	instance, err := h.call(ctx, op, method, wire.HandleRequest{}, nil)
	if err != nil {
		h.mu.Lock()
		h.unsynced.add(before)
		h.mu.Unlock()
		return err
	}
	if before.apart || before.instance != "" && before.instance != instance {
		return pfs.Errorf(op, h.name(), pfs.Stale, "the service that took writes since the last sync was restarted or replaced: they may be lost, write them again")
	}
	return nil
}

// call makes a call on the handle and returns the instance of the service that answered.
func (h *handle) call(ctx context.Context, op, method string, q wire.HandleRequest, reply any) (instance string, err error) {
	q.Handle = h.wire
	err = h.c.do(ctx, call{
		op: op, method: method, name: h.name(), request: q, reply: reply,
		observe: func(resp *http.Response, _ bool) {
			if resp != nil {
				instance = resp.Header.Get(wire.HeaderInstance)
			}
		},
	}, pfs.NewID())
	return instance, err
}

// Truncate sets the length.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "client.Handle.Truncate"
	if err := h.check(ctx, op, pfs.OpenWrite, size, 0); err != nil {
		return err
	}
	instance, err := h.call(ctx, op, wire.CallHandleTruncate, wire.HandleRequest{Size: size}, nil)
	h.wrote(instance)
	return err
}

// Allocate reserves space.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "client.Handle.Allocate"
	if n < 0 {
		return pfs.Errorf(op, h.name(), pfs.Invalid, "%d bytes from offset %d on", n, off)
	}
	if err := h.check(ctx, op, pfs.OpenWrite, off, int(n)); err != nil {
		return err
	}
	instance, err := h.call(ctx, op, wire.CallHandleAllocate, wire.HandleRequest{Off: off, Size: n}, nil)
	h.wrote(instance)
	return err
}

// Sync makes all writes durable.
func (h *handle) Sync(ctx context.Context) error {
	const op = "client.Handle.Sync"
	if err := h.check(ctx, op, 0, 0, 0); err != nil {
		return err
	}
	return h.sync(ctx, op, wire.CallHandleSync)
}

// Stat describes the file in its current state.
func (h *handle) Stat(ctx context.Context) (pfs.Info, error) {
	const op = "client.Handle.Stat"
	if err := h.check(ctx, op, 0, 0, 0); err != nil {
		return pfs.Info{}, err
	}
	var reply wire.InfoReply
	_, err := h.call(ctx, op, wire.CallHandleStat, wire.HandleRequest{}, &reply)
	return reply.Info.Info(), err
}

// SetAttr sets attributes.
func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "client.Handle.SetAttr"
	if err := h.check(ctx, op, 0, 0, 0); err != nil {
		return err
	}
	if err := mask.Check(op, h.name(), attrs); err != nil {
		return err
	}
	_, err := h.call(ctx, op, wire.CallHandleSetAttr, wire.HandleRequest{Attrs: wire.NewAttrs(mask, attrs)}, nil)
	return err
}

// Close closes the handle in the service. If the service cannot be reached, the handle is closed
// when its lease ends.
func (h *handle) Close(ctx context.Context) error {
	const op = "client.Handle.Close"
	if h.closed.Swap(true) {
		return nil
	}
	h.c.leases.remove(h)
	ctx, cancel := farewell(ctx)
	defer cancel()
	return h.sync(ctx, op, wire.CallHandleClose)
}
