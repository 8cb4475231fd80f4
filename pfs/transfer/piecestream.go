package transfer

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// runPieces stages and publishes a stream to a target that is written in long pieces:
// chunk by chunk, in order, while the next ones are read.
func (s *stream) runPieces(ctx context.Context, src *source, opts pfs.CommitOptions) (info pfs.Info, err error) {
	s.w = s.j.resending(s.target, s.w)
	chunks := make(chan []byte, halfWindow)
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(chunks)
		return s.readChunks(both, src, chunks)
	})
	g.Go(func() error { return s.guard(func() error { return s.writeChunks(both, chunks) }) })
	err = g.Wait()
	for p := range chunks {
		s.j.pool.put(p)
	}
	if err != nil {
		return pfs.Info{}, err
	}
	if opts, err = s.stated(opts); err != nil {
		return pfs.Info{}, err
	}
	return s.j.commit(ctx, s.w, s.target, opts)
}

// readChunks reads the stream to its end.
func (s *stream) readChunks(ctx context.Context, src *source, chunks chan<- []byte) error {
	for {
		buf, err := s.j.pool.get(ctx)
		if err != nil {
			return err
		}
		end, err := s.take(ctx, src, buf, func(p []byte) {
			select {
			case chunks <- p:
			case <-ctx.Done():
				s.j.pool.put(p)
			}
		})
		if end || err != nil {
			return err
		}
	}
}

// writeChunks writes the chunks in their order.
func (s *stream) writeChunks(ctx context.Context, chunks <-chan []byte) error {
	for p := range chunks {
		err := s.writeChunk(ctx, p)
		s.j.pool.put(p)
		if err != nil {
			return err
		}
	}
	return pfs.CheckContext(ctx, "transfer.FromReader", s.target.Path)
}

// writeChunk hashes and writes the next chunk.
func (s *stream) writeChunk(ctx context.Context, p []byte) error {
	release, err := s.j.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.leaves = append(s.leaves, digest.Leaf(p))
	if err := s.j.pay(ctx, len(p)); err != nil {
		return err
	}
	err = s.j.retryTemporary(ctx, s.target.Path, func() error {
		_, err := s.w.WriteAt(ctx, p, s.length)
		return err
	})
	if err != nil {
		return err
	}
	s.length += int64(len(p))
	s.wrote(len(p))
	return nil
}
