package transfer

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// stream is a staged write whose source cannot be read again. Its chunks are kept in
// windows of up to halfWindow chunks until they are durable: one window is being filled
// while the one before it is being synced.
type stream struct {
	j      *Job
	target End
	id     string
	cancel context.CancelCauseFunc
	expect int64 // bytes announced, 0 if none were

	length int64            // bytes read so far
	leaves []pfs.LeafDigest // of all windows but the last: 16 bytes for every 4 MiB
	before chan error       // tells when the window before is durable; nil if there is none

	mu         sync.Mutex
	w          pfs.Staged
	generation int  // how often the staged write was opened
	dropped    bool // bytes that the target called durable are no longer here
}

// streamWindow is a row of chunks in memory.
type streamWindow struct{ chunks []*streamChunk }

// streamChunk is one leaf of the stream.
type streamChunk struct {
	p       []byte
	off     int64
	digest  pfs.LeafDigest
	written int // generation that has it
	err     error
	done    chan struct{} // closed when the first writing has ended
}

// wait returns when every chunk was written or failed.
func (w *streamWindow) wait() error {
	var first error
	for _, c := range w.chunks {
		<-c.done
		if first == nil {
			first = c.err
		}
	}
	return first
}

// drop gives back the memory of a window.
func (s *stream) drop(win *streamWindow) {
	for _, c := range win.chunks {
		s.j.pool.put(c.p)
	}
	win.chunks = nil
}

// note keeps the digests of a window.
func (s *stream) note(win *streamWindow) {
	for _, c := range win.chunks {
		s.leaves = append(s.leaves, c.digest)
	}
}

// create begins the staged write, or opens it again.
func (s *stream) create(ctx context.Context, reopen bool) error {
	return s.j.retry(ctx, s.target.Path, func() error {
		w, err := s.target.FS.Create(ctx, s.target.Path, pfs.CreateOptions{ID: s.id, Size: s.expect, Reopen: reopen})
		if err == nil {
			s.w = w
			s.generation++
		}
		return err
	})
}

func (s *stream) current() (pfs.Staged, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w, s.generation
}

// isLost reports whether err says that the target no longer has the staged write, or
// the handle of it.
func isLost(err error) bool {
	if other := (*overtaken)(nil); errors.As(err, &other) {
		return false
	}
	return errors.Is(err, pfs.Conflict) || errors.Is(err, pfs.Closed) || errors.Is(err, pfs.NotExist)
}

// reopen opens the staged write again, unless another chunk has done so since the
// generation that failed.
func (s *stream) reopen(ctx context.Context, failed int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != failed {
		return nil
	}
	_ = s.w.Suspend(ctx)
	err := s.create(ctx, true)
	if errors.Is(err, pfs.Conflict) && !s.dropped {
		err = s.create(ctx, false) // everything is still here
	}
	return err
}

// send begins to write the next chunk.
func (s *stream) send(ctx context.Context, win *streamWindow, p []byte) {
	c := &streamChunk{p: p, off: s.length, done: make(chan struct{})}
	s.length += int64(len(p))
	win.chunks = append(win.chunks, c)
	go func() {
		defer close(c.done)
		if c.err = s.guard(func() error { return s.first(ctx, c) }); c.err != nil {
			s.cancel(c.err)
		}
	}()
}

// guard does a goroutine's work.
func (s *stream) guard(do func() error) error {
	return pfs.Guard("transfer.FromReader", s.target.Path, do)
}

// first hashes and writes a chunk.
func (s *stream) first(ctx context.Context, c *streamChunk) error {
	release, err := s.j.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	c.digest = digest.Leaf(c.p)
	if err := s.j.pay(ctx, len(c.p)); err != nil {
		return err
	}
	if err := s.write(ctx, c); err != nil {
		return err
	}
	s.wrote(len(c.p))
	return nil
}

// wrote notes progress.
func (s *stream) wrote(n int) {
	done := s.j.count.bytesDone.Add(int64(n))
	s.j.emit(Event{Kind: Progress, Target: s.target.Path, Size: -1, Bytes: done})
}

// write writes a chunk to the staged write as it is open now.
func (s *stream) write(ctx context.Context, c *streamChunk) error {
	for try := 1; ; try++ {
		w, generation := s.current()
		err := s.j.retry(ctx, s.target.Path, func() error {
			_, err := w.WriteAt(ctx, c.p, c.off)
			return err
		})
		if err == nil {
			c.written = generation
			return nil
		}
		if !isLost(err) || try == maxPasses {
			return err
		}
		s.j.retried(s.target.Path, err)
		if err := s.reopen(ctx, generation); err != nil {
			return err
		}
	}
}

// rotate begins to sync the window, after the one before it is durable, and empties it.
func (s *stream) rotate(ctx context.Context, win *streamWindow) error {
	if err := s.settle(); err != nil || len(win.chunks) == 0 {
		return err
	}
	full := &streamWindow{chunks: win.chunks}
	win.chunks = nil
	before := make(chan error, 1)
	s.before = before
	go func() {
		err := s.guard(func() error { return s.syncWindow(ctx, full) })
		if err != nil {
			s.cancel(err)
		}
		s.mu.Lock()
		s.dropped = true
		s.mu.Unlock()
		s.drop(full)
		before <- err
	}()
	return nil
}

// syncWindow makes the window durable.
func (s *stream) syncWindow(ctx context.Context, full *streamWindow) error {
	if err := full.wait(); err != nil {
		return err
	}
	s.note(full)
	return s.persist(ctx, full, func(w pfs.Staged) error {
		return s.j.retryTemporary(ctx, s.target.Path, func() error { return w.Sync(ctx) })
	})
}

// settle returns when the window before is durable.
func (s *stream) settle() error {
	if s.before == nil {
		return nil
	}
	err := <-s.before
	s.before = nil
	return err
}

// persist calls secure, which syncs or commits the staged write, until it succeeds with
// all chunks of the window written. Chunks that the target lost are written again.
func (s *stream) persist(ctx context.Context, win *streamWindow, secure func(pfs.Staged) error) error {
	for try := 1; ; try++ {
		w, generation := s.current()
		err := s.complete(ctx, win, generation)
		if err == nil {
			err = secure(w)
		}
		if _, now := s.current(); err == nil && now == generation {
			return nil
		}
		if err == nil && try == maxPasses {
			return pfs.Errorf("transfer.FromReader", s.target.Path, pfs.Conflict, "the target goes on to lose what is staged: send it again")
		}
		if try == maxPasses || err != nil && !isLost(err) && !errors.Is(err, pfs.Integrity) {
			return err
		}
		if err != nil {
			s.j.retried(s.target.Path, err)
		}
		if isLost(err) {
			if err := s.reopen(ctx, generation); err != nil {
				return err
			}
		}
		if errors.Is(err, pfs.Integrity) {
			win.distrust()
		}
	}
}

// complete writes the chunks that the staged write of this generation may lack.
func (s *stream) complete(ctx context.Context, win *streamWindow, generation int) error {
	for _, c := range win.chunks {
		if c.written == generation {
			continue
		}
		if err := s.write(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// distrust has every chunk written again.
func (w *streamWindow) distrust() {
	for _, c := range w.chunks {
		c.written = 0
	}
}
