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

// writeBehind gathers the bytes of an upload until a block is full, and writes that block while
// WriteAt gathers the next one: the cluster needs hardly more time for a block than for a few
// bytes. A piece that could not be written is kept and written again by the next call, so a flush
// that succeeds has written everything.
type writeBehind struct {
	w *staged

	mu     sync.Mutex
	open   map[int64]*piece // being filled, by block number
	failed []*piece         // that could not be written

	flights chan struct{}
	flying  map[int64]bool // blocks in transit
	landed  sync.Cond      // signals that a block was written
}

// piece is a range of bytes within one block.
type piece struct {
	off    int64
	p      []byte
	data   *buffer
	failed error // why it could not be written; the call may still read p
}

func (p *piece) end() int64   { return p.off + int64(len(p.p)) }
func (p *piece) block() int64 { return p.off / blockSize }

func newWriteBehind(w *staged) *writeBehind {
	b := &writeBehind{w: w, open: map[int64]*piece{}, flying: map[int64]bool{}, flights: make(chan struct{}, flightsEach)}
	b.landed.L = &b.mu
	return b
}

// write takes p, which is within one block.
func (b *writeBehind) write(ctx context.Context, op string, p []byte, off int64) (int, error) {
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
	case t.end()%blockSize != 0:
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

// join adds p to the piece that ends at off, or begins a piece, and returns it. It returns nil if
// there is no memory, or if p does not continue the open piece of its block: two writes of the same
// bytes must reach the cluster in order.
func (b *writeBehind) join(p []byte, off int64) *piece {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := off / blockSize
	t := b.open[n]
	if b.flying[n] || t != nil && t.end() != off {
		return nil
	}
	if t == nil {
		data := tryBuffer(b.w.fs.store.behind, blockSize)
		if data == nil {
			return nil
		}
		t = &piece{off: off, p: data.p[:0], data: data}
		b.open[n] = t
	}
	t.p = append(t.p, p...)
	return t
}

// launch writes a full piece while the caller continues. It does nothing if a flush took the piece
// meanwhile.
func (b *writeBehind) launch(op string, t *piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[t.block()] != t {
		<-b.flights
		return
	}
	delete(b.open, t.block())
	b.flying[t.block()] = true
	go func() {
		b.land(t, b.send(context.Background(), op, t))
		<-b.flights
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.flying, t.block())
		b.landed.Broadcast()
	}()
}

// send writes a piece.
func (b *writeBehind) send(ctx context.Context, op string, t *piece) error {
	_, err := b.w.change(ctx, op, func(c *call, h *handle) (int, error) { return h.write(c, t.p, t.off) })
	return err
}

// land frees a written piece, and keeps one that failed.
func (b *writeBehind) land(t *piece, err error) {
	if err == nil {
		t.free()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.failed = err
	b.failed = append(b.failed, t)
}

func (p *piece) free() { p.data.free(p.failed) }

// retry writes the failed pieces again.
func (b *writeBehind) retry(ctx context.Context, op string) error {
	b.mu.Lock()
	again := b.failed
	b.failed = nil
	b.mu.Unlock()
	return b.sendAll(ctx, op, again)
}

// sendAll writes pieces up to the first that fails, and keeps that one and the rest.
func (b *writeBehind) sendAll(ctx context.Context, op string, pieces []*piece) (err error) {
	for _, t := range pieces {
		if err == nil {
			err = b.send(ctx, op, t)
		}
		b.land(t, err)
	}
	return err
}

// flush waits until all bytes given to write are written.
func (b *writeBehind) flush(ctx context.Context, op string) error {
	pieces := b.rest()
	slices.SortFunc(pieces, func(s, t *piece) int { return cmp.Compare(s.off, t.off) })
	return b.sendAll(ctx, op, pieces)
}

// rest waits for the blocks in transit, and returns the pieces that are still to be written.
func (b *writeBehind) rest() []*piece {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.flying) > 0 {
		b.landed.Wait()
	}
	pieces := slices.AppendSeq(b.failed, maps.Values(b.open))
	b.failed, b.open = nil, map[int64]*piece{}
	return pieces
}

// drop discards the unwritten pieces.
func (b *writeBehind) drop() {
	for _, t := range b.rest() {
		t.free()
	}
}
