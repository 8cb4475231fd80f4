//go:build ceph

package cephfs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// maxBehind is the number of bytes of all staged writes that are kept to be written later.
	// With more, WriteAt writes by itself.
	maxBehind = 32 << 20
	// flightsEach is the number of chunks of one staged write that are on their way at once
	// while its WriteAt has returned.
	flightsEach = 2
)

// behind gathers what WriteAt is given until a chunk is full, which is then written while WriteAt
// takes the next. The cluster answers for a chunk in hardly more time than for a small piece. What
// could not be written is kept, and written again by the next call, so a flush that succeeds has
// written everything.
type behind struct {
	w *staged

	mu     sync.Mutex
	open   map[int64]*piece // that are being filled, by the number of their chunk
	failed []*piece         // whose writing failed

	flights chan struct{}
	flying  map[int64]bool // chunks that are on their way
	landed  sync.Cond      // tells of each that is no more
}

// piece is a part of one chunk, from its start.
type piece struct {
	off    int64
	p      []byte
	full   *[]byte
	shared bool // an abandoned call may still read it
}

func (p *piece) end() int64   { return p.off + int64(len(p.p)) }
func (p *piece) chunk() int64 { return p.off / pfs.ChunkSize }

func newBehind(w *staged) *behind {
	b := &behind{w: w, open: map[int64]*piece{}, flying: map[int64]bool{}, flights: make(chan struct{}, flightsEach)}
	b.landed.L = &b.mu
	return b
}

// write takes p, which is part of one chunk.
func (b *behind) write(ctx context.Context, op string, p []byte, off int64) (int, error) {
	if err := b.retry(ctx, op); err != nil {
		return 0, err
	}
	t := b.join(p, off)
	switch {
	case t == nil:
		if err := b.flush(ctx, op); err != nil {
			return 0, err
		}
		return b.w.writeNow(ctx, op, p, off)
	case t.end()%pfs.ChunkSize != 0:
		return len(p), nil
	}
	select {
	case b.flights <- struct{}{}:
		b.launch(op, t)
		return len(p), nil
	case <-ctx.Done():
		return 0, pfs.E(op, b.w.name, pfs.Canceled, ctx.Err()) // the piece stays open
	}
}

// join adds p to the piece that ends at off, or begins one, and returns it; nil if there is no
// memory for that, or if the order is another one: what is written twice must land in that order.
func (b *behind) join(p []byte, off int64) *piece {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.open[off/pfs.ChunkSize]
	switch {
	case t != nil && t.end() != off, b.flying[off/pfs.ChunkSize]:
		return nil
	case t == nil && !b.w.fs.store.behind.TryAcquire(pfs.ChunkSize):
		return nil
	case t == nil:
		full := poolFor(pfs.ChunkSize).Get().(*[]byte)
		t = &piece{off: off, p: (*full)[:0], full: full}
		b.open[off/pfs.ChunkSize] = t
	}
	t.p = append(t.p, p...)
	return t
}

// launch writes a full piece while its caller goes on.
func (b *behind) launch(op string, t *piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, t.chunk())
	b.flying[t.chunk()] = true
	go func() {
		b.land(t, b.send(context.Background(), op, t))
		<-b.flights
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.flying, t.chunk())
		b.landed.Broadcast()
	}()
}

// send writes a piece.
func (b *behind) send(ctx context.Context, op string, t *piece) error {
	_, err := b.w.change(ctx, op, func(c *call, h *handle) (int, error) { return h.write(c, t.p, t.off) })
	return err
}

// land ends a piece that was written, or keeps it.
func (b *behind) land(t *piece, err error) {
	if err == nil {
		b.free(t)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.shared = true
	b.failed = append(b.failed, t)
}

func (b *behind) free(t *piece) {
	b.w.fs.store.behind.Release(pfs.ChunkSize)
	if !t.shared {
		poolFor(pfs.ChunkSize).Put(t.full)
	}
}

// retry writes again what could not be written.
func (b *behind) retry(ctx context.Context, op string) error {
	b.mu.Lock()
	again := b.failed
	b.failed = nil
	b.mu.Unlock()
	return b.sendAll(ctx, op, again)
}

// sendAll writes pieces, and keeps those that cannot be.
func (b *behind) sendAll(ctx context.Context, op string, pieces []*piece) (err error) {
	for _, t := range pieces {
		if err == nil {
			err = b.send(ctx, op, t)
		}
		b.land(t, err)
	}
	return err
}

// flush returns once all that write took is written.
func (b *behind) flush(ctx context.Context, op string) error {
	pieces := b.rest()
	slices.SortFunc(pieces, func(s, t *piece) int { return cmp.Compare(s.off, t.off) })
	return b.sendAll(ctx, op, pieces)
}

// rest waits for what is on its way, and returns what is left to be written.
func (b *behind) rest() []*piece {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.flying) > 0 {
		b.landed.Wait()
	}
	pieces := slices.AppendSeq(b.failed, maps.Values(b.open))
	b.failed, b.open = nil, map[int64]*piece{}
	return pieces
}

// drop forgets what was not written.
func (b *behind) drop() {
	for _, t := range b.rest() {
		b.free(t)
	}
}
