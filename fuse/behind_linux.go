package fuse

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// behind sends the bytes that a program writes to a file from start to end to the store, in large parts and while the
// program continues. Bytes that the store does not have yet are in a local file, the tail, which the broker keeps. So they
// survive this process: the next server sends them again.
//
// A node has at most one behind. Every request that depends on the content or the size of the file, and every other
// write, first waits for its end (server.drain).
type behind struct {
	s *server
	o *openFile // that writes

	mu      sync.Mutex      // guards the following
	changed chan struct{}   // closed and replaced when a part was sent
	from    int64           // everything before is on the store
	next    int64           // everything before is on its way
	end     int64           // of what was written
	landed  map[int64]int64 // parts after from that are on the store: their ends, by where they begin
	flying  int             // parts on their way
	closed  bool            // takes nothing more
	err     error           // of a part; the rest is not sent
}

const (
	maxBehind   = 64 << 20 // bytes of a file that the store does not have yet
	behindHead  = 4096     // length of the head of a tail: from, end, and the errno of what was lost, of 8 bytes each
	behindLost  = 16       // offset of that errno
	behindAfter = 1 << 20  // default of Options.BehindAfter
	behindParts = 4        // on their way at a time, of all files
)

// writeAt writes p to the file o, now or behind. The error may be that of an earlier write.
func (s *server) writeAt(ctx context.Context, o *openFile, p []byte, off int64) (n int, err error) {
	if err := o.lostBehind(); err != nil {
		return 0, err
	}
	if s.streams(o, off) {
		if b := s.behindOf(o, off); b.o == o { // else another open file has written
			taken, err := b.append(ctx, p, off)
			if err != nil {
				return 0, err
			}
			if taken {
				o.wroteAt(off, len(p))
				return len(p), nil
			}
		}
	}
	if err := s.drain(ctx, o.node); err != nil {
		return 0, err
	}
	if err := o.lostBehind(); err != nil {
		return 0, err
	}
	n, err = o.handle.WriteAt(ctx, p, off)
	o.wroteAt(off, n)
	return n, err
}

// wroteAt counts bytes that are written from start to end.
func (o *openFile) wroteAt(off int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if off != o.end {
		o.streamed = 0
	}
	o.streamed += int64(n)
	o.end = off + int64(n)
}

// lostBehind returns the error of a part that could not be sent, once.
func (o *openFile) lostBehind() error {
	err := o.lost.Swap(nil)
	if err == nil {
		return nil
	}
	if tail := o.tail.Load(); tail != nil { // else another server would report the error again
		_, _ = tail.WriteAt(make([]byte, 8), behindLost)
	}
	return *err
}

// streams reports whether a write to o at off is written behind.
func (s *server) streams(o *openFile, off int64) bool {
	h, ok := o.handle.(*namedHandle)
	if !ok || s.parts == nil || h.flags&pfs.OpenAppend != 0 || !o.node.hasID() || o.tailless.Load() {
		return false
	}
	o.mu.Lock()
	streams := o.end == off && o.streamed >= cmp.Or(s.opts.BehindAfter, behindAfter)
	o.mu.Unlock()
	if !streams || o.tail.Load() != nil {
		return streams
	}
	h.mu.Lock()
	_, flushes := h.h.(Flusher) // it does this itself
	h.mu.Unlock()
	if flushes {
		o.tailless.Store(true)
		return false
	}
	f, err := s.newTail(h)
	if err != nil {
		o.tailless.Store(true)
		s.opts.Logger.Warn("a file is written slowly, because no local file can keep what is not on the store yet", "path", h.name, "error", err)
		return false
	}
	if !o.tail.CompareAndSwap(nil, f) {
		f.Close() // another write was faster
		return true
	}
	s.noteOpen(o)
	return true
}

// tailKey is the name by which the broker keeps the tail of h.
func tailKey(h *namedHandle) string { return "tail-" + h.id }

// newTail returns a tail for h. It leaves a twentieth of the disk free.
func (s *server) newTail(h *namedHandle) (*os.File, error) {
	f, err := os.CreateTemp(s.opts.WriteBehind, "unsent-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	var disk syscall.Statfs_t
	if err == nil {
		err = syscall.Fstatfs(int(f.Fd()), &disk)
	}
	if err == nil && (int64(disk.Bavail)-int64(disk.Blocks)/20)*disk.Bsize < behindHead+maxBehind {
		err = fmt.Errorf("%s: a twentieth of the disk stays free: %w", s.opts.WriteBehind, syscall.ENOSPC)
	}
	if err == nil {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, behindHead+maxBehind)
	}
	if err == nil && s.opts.Broker != nil {
		err = s.opts.Broker.Keep(tailKey(h), f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// behindOf returns the behind of the file, a new one for o from off on if there is none.
func (s *server) behindOf(o *openFile, off int64) *behind {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	e := o.node.rare()
	if e.behind == nil {
		e.behind = newBehind(s, o, off, off)
	}
	return e.behind
}

func newBehind(s *server, o *openFile, from, end int64) *behind {
	return &behind{s: s, o: o, changed: make(chan struct{}), from: from, next: from, end: end, landed: map[int64]int64{}}
}

// append takes p, if it is the next of a file. It waits while the tail is full.
func (b *behind) append(ctx context.Context, p []byte, off int64) (taken bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := func() bool { return !b.closed && b.err == nil && b.end == off }
	if err := b.await(ctx, func() bool { return !fits() || off+int64(len(p))-b.from <= maxBehind }); err != nil || !fits() {
		return false, err
	}
	if err := b.put(p, off); err != nil {
		b.s.opts.Logger.Warn("a write waits for the store, because the local disk cannot keep its bytes", "path", b.o.handle.(*namedHandle).name, "error", err)
		return false, nil
	}
	b.end = off + int64(len(p))
	if err := b.writeHead(nil); err != nil {
		b.end = off
		return false, nil
	}
	for b.next/pfs.ChunkSize < b.end/pfs.ChunkSize {
		b.launch()
	}
	return true, nil
}

// await waits until ok returns true. b.mu is held.
func (b *behind) await(ctx context.Context, ok func() bool) error {
	for !ok() {
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if !ok() && ctx.Err() != nil {
			return pfs.CheckContext(ctx, "fuse.behind", "")
		}
	}
	return nil
}

// put writes p to the tail, which is a ring buffer.
func (b *behind) put(p []byte, off int64) error {
	return inTail(p, off, b.o.tail.Load().WriteAt)
}

// inTail calls do with the parts of p and their offsets in a tail.
func inTail(p []byte, off int64, do func(p []byte, at int64) (int, error)) error {
	for len(p) > 0 {
		at := off % maxBehind
		n := min(int64(len(p)), maxBehind-at)
		if _, err := do(p[:n], behindHead+at); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// writeHead records the range that the store does not have, and the error of bytes that were lost. b.mu is held.
func (b *behind) writeHead(lost error) error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(b.from))
	head = binary.LittleEndian.AppendUint64(head, uint64(b.end))
	_, err := b.o.tail.Load().WriteAt(binary.LittleEndian.AppendUint64(head, uint64(statusOf(lost))), 0)
	return err
}

// launch begins to send the next part. b.mu is held.
func (b *behind) launch() {
	from := b.next
	b.next = min(b.end, (from/pfs.ChunkSize+1)*pfs.ChunkSize)
	b.flying++
	go b.send(from, b.next)
}

// send sends a part.
func (b *behind) send(from, to int64) {
	buf := <-b.s.parts
	if buf == nil {
		buf = make([]byte, pfs.ChunkSize)
	}
	p := buf[:to-from]
	err := inTail(p, from, b.o.tail.Load().ReadAt)
	for at := from; at < to && err == nil; {
		var n int
		n, err = b.o.handle.WriteAt(b.s.ctx, p[at-from:], at)
		at += int64(n)
	}
	b.s.parts <- buf
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
	if err == nil {
		b.landed[from] = to
		for to, ok := b.landed[b.from]; ok; to, ok = b.landed[b.from] {
			delete(b.landed, b.from)
			b.from = to
		}
		_ = b.writeHead(nil) // an old head has bytes that the store has, too
	}
	b.err = cmp.Or(b.err, err)
	close(b.changed)
	b.changed = make(chan struct{})
}

// finish refuses further bytes, and waits until all bytes are sent or have failed.
func (b *behind) finish(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for b.next < b.end && b.err == nil {
		b.launch()
	}
	if err := b.await(ctx, func() bool { return b.flying == 0 }); err != nil {
		return err
	}
	if b.err != nil && b.from < b.end {
		lost := b.err
		b.o.lost.Store(&lost)
		b.s.fail(b.err) // logs it
		b.from = b.end
		_ = b.writeHead(b.err)
	}
	return nil
}

// behind returns the behind of n; nil if there is none.
func (s *server) behind(n *node) *behind {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if n.extra == nil {
		return nil
	}
	return n.extra.behind
}

// drain returns when the store has all bytes that were written to n before. The writer gets the error of bytes that
// could not be sent.
func (s *server) drain(ctx context.Context, n *node) error {
	if s.parts == nil || n == nil {
		return nil
	}
	b := s.behind(n)
	if b == nil {
		return nil
	}
	if err := b.finish(ctx); err != nil {
		return err
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if n.extra != nil && n.extra.behind == b {
		n.extra.behind = nil
		n.tidy()
	}
	return nil
}

// drainChild is drain for base in dir, if the kernel knows it.
func (s *server) drainChild(ctx context.Context, dir *node, base string) error {
	if s.parts == nil {
		return nil
	}
	s.tree.mu.Lock()
	n := s.tree.child(dir, base)
	s.tree.mu.Unlock()
	return s.drain(ctx, n)
}

// drainAll is drain for all files. It also returns the errors that the writers will get.
func (s *server) drainAll(ctx context.Context) (err error) {
	for _, o := range s.allBehind() {
		err = cmp.Or(err, s.drain(ctx, o.node))
		if lost := o.lost.Load(); lost != nil {
			err = cmp.Or(err, *lost)
		}
	}
	return err
}

// allBehind returns the open files that have a tail.
func (s *server) allBehind() (all []*openFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.files {
		if o, ok := o.(*openFile); ok && o.tail.Load() != nil {
			all = append(all, o)
		}
	}
	return all
}

// bytesBehind returns the number of bytes that were written and that the store does not have yet.
func (s *server) bytesBehind() (bytes int64) {
	s.eachBehind(func(_ *openFile, n int64) { bytes += n })
	return bytes
}

// eachBehind calls do with the open files that have bytes which the store does not have yet, and with their number.
func (s *server) eachBehind(do func(o *openFile, bytes int64)) {
	for _, o := range s.allBehind() {
		if b := s.behind(o.node); b != nil && b.o == o {
			b.mu.Lock()
			bytes := b.end - b.from
			b.mu.Unlock()
			if bytes > 0 {
				do(o, bytes)
			}
		}
	}
}

// currentSize returns the size of n, which the store has reported as size, perhaps before the last writes. The caller holds
// the lock of the tree.
func (n *node) currentSize(size int64) int64 {
	if n.extra == nil || n.extra.behind == nil {
		return size
	}
	b := n.extra.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(size, b.end)
}

// resumeBehind sends the bytes that the server before this one left in the tail of o.
func (s *server) resumeBehind(o *openFile) {
	h := o.handle.(*namedHandle)
	f, err := s.opts.Broker.Kept(tailKey(h))
	var head [behindLost + 8]byte
	if err == nil && f == nil {
		err = os.ErrNotExist
	}
	if err == nil {
		o.tail.Store(f)
		_, err = f.ReadAt(head[:], 0)
	}
	if errno := syscall.Errno(binary.LittleEndian.Uint64(head[behindLost:])); err == nil && errno != 0 { // the server before this one has logged it
		lost := error(errno)
		o.lost.Store(&lost)
	}
	if err != nil {
		err = pfs.Errorf("fuse.resume", h.name, pfs.Other, "what programs have written and the store did not have yet is lost: %w", err)
		s.opts.Logger.Error(err.Error())
		o.lost.Store(&err)
		return
	}
	b := newBehind(s, o, int64(binary.LittleEndian.Uint64(head[:])), int64(binary.LittleEndian.Uint64(head[8:])))
	if b.from < b.end {
		b.closed = true
		o.node.rare().behind = b
		go s.drain(s.ctx, o.node)
	}
}

// closeTail ends the tail of o, whose bytes are all sent.
func (s *server) closeTail(o *openFile) {
	f := o.tail.Load()
	if f == nil {
		return
	}
	_ = f.Close()
	if s.opts.Broker != nil {
		_ = s.opts.Broker.Drop(tailKey(o.handle.(*namedHandle)))
	}
}
