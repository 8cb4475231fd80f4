package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// pieceStream is the keeper of a target that is written in long pieces: chunk by chunk, in
// order, while the next ones are filled.
type pieceStream struct {
	w      *Writer
	staged pfs.Staged // nil while suspended
	chunks chan []byte
	done   chan struct{} // closed when the last chunk was written, or one failed
	err    error         // after done
	ended  bool
}

func newPieceStream(w *Writer, staged pfs.Staged) *pieceStream {
	s := &pieceStream{w: w, staged: w.j.resending(w.target, staged), chunks: make(chan []byte, halfWindow), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if s.err = w.guard(func() error { return s.writeChunks(w.ctx) }); s.err != nil {
			w.cancel(s.err)
		}
	}()
	return s
}

func (s *pieceStream) reserve(ctx context.Context) error { return s.w.j.pool.reserve(ctx) }

func (s *pieceStream) put(ctx context.Context, p []byte) error {
	select {
	case s.chunks <- p:
		return nil
	case <-ctx.Done():
		s.w.j.pool.put(p)
		return pfs.CheckContext(ctx, "transfer.Writer", s.w.target.Path)
	}
}

// writeChunks writes the chunks in their order.
func (s *pieceStream) writeChunks(ctx context.Context) error {
	for off := int64(0); ; {
		select {
		case p, more := <-s.chunks:
			if !more {
				return nil
			}
			leaf, err := s.w.write(ctx, p, func() error {
				return s.w.j.retryTemporary(ctx, s.w.target.Path, func(ctx context.Context) error {
					_, err := s.staged.WriteAt(ctx, p, off)
					return err
				})
			})
			s.w.sums.leaves = append(s.w.sums.leaves, leaf)
			off += int64(len(p))
			s.w.j.pool.put(p)
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return pfs.CheckContext(ctx, "transfer.Writer", s.w.target.Path)
		}
	}
}

func (s *pieceStream) end(context.Context) error {
	if !s.ended {
		s.ended = true
		close(s.chunks)
	}
	<-s.done
	return s.err
}

func (s *pieceStream) seal(ctx context.Context) error { return s.staged.Sync(ctx) }

func (s *pieceStream) commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	return s.w.j.commit(ctx, s.staged, s.w.target, opts)
}

func (s *pieceStream) suspend(ctx context.Context) error {
	err := s.staged.Suspend(ctx)
	_ = s.staged.Close(ctx)
	s.staged = nil
	return err
}

func (s *pieceStream) reopen(ctx context.Context) (err error) {
	if s.staged == nil {
		s.staged, err = s.w.target.FS.Create(ctx, s.w.target.Path, pfs.CreateOptions{ID: s.w.id, Reopen: true})
	}
	return err
}

func (s *pieceStream) close(ctx context.Context) {
	_ = s.end(s.w.ctx)
	for p := range s.chunks {
		s.w.j.pool.put(p)
	}
	if s.staged != nil {
		_ = s.staged.Close(ctx)
	}
}
