package transfer

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// stream is the keeper of a target that takes chunks in any order. They are kept in windows of
// up to halfWindow chunks until they are durable: one window is being filled while the one
// before it is being synced.
type stream struct {
	w       *Writer
	last    streamWindow // the one being filled
	off     int64        // where the next chunk belongs
	syncing chan error   // reports when the previous window is durable; nil if there is none

	mu         sync.Mutex
	staged     pfs.Staged // nil while suspended
	generation int        // how often it was opened
	dropped    bool       // bytes that the target reported as durable were dropped here
}

// streamWindow is a row of chunks in memory.
type streamWindow struct{ chunks []*streamChunk }

// streamChunk is one leaf of the stream.
type streamChunk struct {
	p       []byte
	off     int64
	sums    leafSums
	written int // generation that has it
	err     error
	done    chan struct{} // closed when the first writing has ended
}

// wait returns when every chunk was written or failed.
func (win *streamWindow) wait() error {
	var first error
	for _, c := range win.chunks {
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
		s.w.j.pool.put(c.p)
	}
	win.chunks = nil
}

// note keeps the hashes of a window.
func (s *stream) note(win *streamWindow) {
	for _, c := range win.chunks {
		s.w.sums.leaves = append(s.w.sums.leaves, c.sums)
	}
}

// create begins the upload, or opens it again.
func (s *stream) create(ctx context.Context, reopen bool) error {
	target := s.w.target
	return s.w.j.retry(ctx, target.Path, func(ctx context.Context) error {
		staged, err := target.FS.Create(ctx, target.Path, pfs.CreateOptions{ID: s.w.id, Size: s.w.opts.Size, Reopen: reopen})
		if err == nil {
			s.staged = staged
			s.generation++
		}
		return err
	})
}

func (s *stream) current() (pfs.Staged, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.staged, s.generation
}

// isLost reports whether err means that the target no longer has the upload or its handle.
func isLost(err error) bool {
	if other := (*overtaken)(nil); errors.As(err, &other) {
		return false
	}
	return errors.Is(err, pfs.Conflict) || errors.Is(err, pfs.Closed) || errors.Is(err, pfs.NotExist)
}

// renew opens the upload again, unless another chunk has done so since the generation that failed.
func (s *stream) renew(ctx context.Context, failed int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != failed {
		return nil
	}
	_ = s.staged.Suspend(ctx)
	err := s.create(ctx, true)
	if errors.Is(err, pfs.Conflict) && !s.dropped {
		err = s.create(ctx, false) // everything is still here
	}
	return err
}

// reserve reserves memory for the next chunk. If memory is short, the stream drops its kept bytes
// before it waits.
func (s *stream) reserve(ctx context.Context) error {
	if s.w.j.pool.tryReserve() {
		return nil
	}
	err := s.rotate(ctx)
	if err == nil {
		err = s.settle()
	}
	if err != nil {
		return err
	}
	return s.w.j.pool.reserve(ctx)
}

func (s *stream) put(ctx context.Context, p []byte) error {
	s.send(ctx, p)
	if s.w.crowded != nil && s.w.crowded() {
		if err := s.rotate(ctx); err != nil {
			return err
		}
		return s.settle()
	}
	if len(s.last.chunks) < halfWindow {
		return nil
	}
	return s.rotate(ctx)
}

// send begins to write the next chunk.
func (s *stream) send(ctx context.Context, p []byte) {
	c := &streamChunk{p: p, off: s.off, done: make(chan struct{})}
	s.off += int64(len(p))
	s.last.chunks = append(s.last.chunks, c)
	go func() {
		defer close(c.done)
		c.err = s.w.guard(func() (err error) {
			c.sums, err = s.w.write(ctx, c.p, func() error { return s.write(ctx, c) })
			return err
		})
		if c.err != nil {
			s.w.cancel(c.err)
		}
	}()
}

// write writes a chunk to the current handle of the upload.
func (s *stream) write(ctx context.Context, c *streamChunk) error {
	name := s.w.target.Path
	for try := 1; ; try++ {
		staged, generation := s.current()
		err := s.w.j.retry(ctx, name, func(ctx context.Context) error {
			_, err := staged.WriteAt(ctx, c.p, c.off)
			return err
		})
		if err == nil {
			c.written = generation
			return nil
		}
		if !isLost(err) || try == maxPasses {
			return err
		}
		s.w.j.retried(name, 0, err)
		if err := s.renew(ctx, generation); err != nil {
			return err
		}
	}
}

// rotate begins to sync the last window, after the one before it is durable, and empties it.
func (s *stream) rotate(ctx context.Context) error {
	if err := s.settle(); err != nil || len(s.last.chunks) == 0 {
		return err
	}
	full := s.last
	s.last = streamWindow{}
	syncing := make(chan error, 1)
	s.syncing = syncing
	go func() {
		err := s.w.guard(func() error { return s.sync(ctx, &full) })
		if err != nil {
			s.w.cancel(err)
		}
		s.mu.Lock()
		s.dropped = true
		s.mu.Unlock()
		s.drop(&full)
		syncing <- err
	}()
	return nil
}

// sync makes the window durable.
func (s *stream) sync(ctx context.Context, full *streamWindow) error {
	if err := full.wait(); err != nil {
		return err
	}
	s.note(full)
	return s.persist(ctx, full, func(staged pfs.Staged) error {
		return s.w.j.retryTemporary(ctx, s.w.target.Path, func(ctx context.Context) error { return staged.Sync(ctx) })
	})
}

// settle returns when the window before is durable.
func (s *stream) settle() error {
	if s.syncing == nil {
		return nil
	}
	err := <-s.syncing
	s.syncing = nil
	return err
}

// persist calls secure, which syncs or commits the upload, until it succeeds with all chunks of the
// window written. Chunks that the target lost are written again.
func (s *stream) persist(ctx context.Context, win *streamWindow, secure func(pfs.Staged) error) error {
	for try := 1; ; try++ {
		staged, generation := s.current()
		err := s.complete(ctx, win, generation)
		if err == nil {
			err = secure(staged)
		}
		if _, now := s.current(); err == nil && now == generation {
			return nil
		}
		if err == nil && try == maxPasses {
			return pfs.Errorf("transfer.Writer", s.w.target.Path, pfs.Conflict, "the target goes on to lose what is staged: send it again")
		}
		if try == maxPasses || err != nil && !isLost(err) && !errors.Is(err, pfs.Integrity) {
			return err
		}
		if err != nil {
			s.w.j.retried(s.w.target.Path, 0, err)
		}
		if isLost(err) {
			if err := s.renew(ctx, generation); err != nil {
				return err
			}
		}
		if errors.Is(err, pfs.Integrity) {
			win.distrust()
		}
	}
}

// complete writes the chunks that the upload of this generation may lack.
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
func (win *streamWindow) distrust() {
	for _, c := range win.chunks {
		c.written = 0
	}
}

func (s *stream) end(context.Context) error {
	err := s.settle()
	if err == nil {
		err = s.last.wait()
	}
	if err == nil {
		s.note(&s.last)
	}
	return err
}

func (s *stream) seal(ctx context.Context) error {
	err := s.persist(ctx, &s.last, func(staged pfs.Staged) error {
		return s.w.j.retryTemporary(ctx, s.w.target.Path, func(ctx context.Context) error { return staged.Sync(ctx) })
	})
	if err == nil {
		s.dropped = true
		s.drop(&s.last)
	}
	return err
}

func (s *stream) commit(ctx context.Context, opts pfs.CommitOptions) (info pfs.Info, err error) {
	err = s.persist(ctx, &s.last, func(staged pfs.Staged) error {
		info, err = s.w.j.commit(ctx, staged, s.w.target, opts)
		return err
	})
	return info, err
}

func (s *stream) suspend(ctx context.Context) error {
	err := s.staged.Suspend(ctx)
	_ = s.staged.Close(ctx)
	s.staged = nil
	return err
}

func (s *stream) reopen(ctx context.Context) error {
	if s.staged != nil {
		return nil
	}
	return s.create(ctx, true)
}

func (s *stream) close(ctx context.Context) {
	_ = s.last.wait()
	s.drop(&s.last)
	_ = s.settle()
	if s.staged != nil {
		_ = s.staged.Close(ctx)
	}
}
