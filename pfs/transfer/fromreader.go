package transfer

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// StreamWindow is how many bytes of a stream are kept in memory until the target
// has made them durable, so that they can be sent again.
const StreamWindow = 32 << 20

// halfWindow is the number of chunks that are made durable at once, while as many
// more are read and sent.
const halfWindow = StreamWindow / pfs.ChunkSize / 2

// FromReader writes what r yields, to its end, to the file target. r cannot be read
// again: what is not yet durable at the target is kept and sent again if the target
// loses it. It is kept in memory, up to StreamWindow bytes and less if the memory of the
// job is short, or, for a target that is written in long pieces, in a temporary file (see
// Resending). A stream that fails leaves nothing behind.
//
// opts.Size and opts.Digest (XXH3), if not zero, are what the caller expects; a stream
// that has another size or digest answers Integrity and is not published. If FromReader
// fails, a Read of r may still be in progress when it returns.
func (j *Job) FromReader(caller context.Context, target End, r io.Reader, opts pfs.CommitOptions) (pfs.Info, error) {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	j.count.files.Add(1)
	s := &stream{j: j, target: target, id: pfs.NewID(), cancel: cancel, expect: opts.Size}
	info, err := s.run(ctx, r, opts)
	if first := context.Cause(ctx); err != nil && first != nil && caller.Err() == nil {
		err = first // what failed first has stopped the rest
	}
	if err != nil {
		j.count.failed.Add(1)
		j.emit(Event{Kind: Failed, Target: target.Path, Size: -1, Bytes: s.length, Err: err})
		return pfs.Info{}, err
	}
	j.count.filesDone.Add(1)
	j.emit(Event{Kind: Done, Target: target.Path, Size: info.Size, Bytes: info.Size, Digest: info.Digest})
	return info, nil
}

// run stages the stream and publishes it.
func (s *stream) run(ctx context.Context, r io.Reader, opts pfs.CommitOptions) (info pfs.Info, err error) {
	if err := s.create(ctx, false); err != nil {
		return pfs.Info{}, err
	}
	defer func() {
		w, _ := s.current()
		_ = w.Close(ctx)
	}()
	src := newSource(r)
	defer close(src.ask)
	if s.w.Unit() > pfs.ChunkSize {
		return s.runPieces(ctx, src, opts)
	}
	last, err := s.receive(ctx, src)
	if err == nil {
		info, err = s.commit(ctx, last, opts)
	}
	if err != nil {
		s.cancel(err)
	}
	_ = last.wait()
	s.drop(last)
	_ = s.settle()
	return info, err
}

// receive reads the stream to its end and stages it. It returns the last window,
// which is not yet known to be durable.
func (s *stream) receive(ctx context.Context, src *source) (*streamWindow, error) {
	win := &streamWindow{}
	for {
		buf, err := s.buffer(ctx, win)
		if err != nil {
			return win, err
		}
		end, err := s.take(ctx, src, buf, func(p []byte) { s.send(ctx, win, p) })
		if err != nil {
			return win, err
		}
		if end {
			return win, s.settle()
		}
		if len(win.chunks) == halfWindow {
			if err := s.rotate(ctx, win); err != nil {
				return win, err
			}
		}
	}
}

// take reads the next chunk into buf and gives it to use, which has the buffer from then
// on. It reports whether the stream has ended.
func (s *stream) take(ctx context.Context, src *source, buf []byte, use func(p []byte)) (end bool, err error) {
	n, end, err := src.read(ctx, buf)
	switch {
	case n > 0:
		s.j.count.bytes.Add(int64(n))
		use(buf[:n])
	case ctx.Err() != nil:
		s.j.pool.cancel() // the reader still has the buffer
	default:
		s.j.pool.put(buf)
	}
	if err != nil {
		return false, pfs.E("transfer.FromReader", s.target.Path, pfs.KindOf(err), err)
	}
	if end {
		s.j.count.complete.Store(true)
	}
	return end, nil
}

// buffer returns a buffer for the next chunk. If memory is short it gives up what
// the stream holds before it waits.
func (s *stream) buffer(ctx context.Context, win *streamWindow) ([]byte, error) {
	if buf, ok := s.j.pool.try(); ok {
		return buf, nil
	}
	err := s.rotate(ctx, win)
	if err == nil {
		err = s.settle()
	}
	if err != nil {
		return nil, err
	}
	return s.j.pool.get(ctx)
}

// commit publishes the stream. What the target has lost of the last window is sent
// again.
func (s *stream) commit(ctx context.Context, last *streamWindow, opts pfs.CommitOptions) (info pfs.Info, err error) {
	if err := last.wait(); err != nil {
		return info, err
	}
	s.note(last)
	if opts, err = s.stated(opts); err != nil {
		return info, err
	}
	err = s.persist(ctx, last, func(w pfs.Staged) error {
		info, err = s.j.commit(ctx, w, s.target, opts)
		return err
	})
	return info, err
}

// stated returns opts with the size and digest of the stream, which the caller may have
// announced others of.
func (s *stream) stated(opts pfs.CommitOptions) (pfs.CommitOptions, error) {
	sum, err := s.sum()
	if err == nil {
		err = s.checkExpected(opts, sum)
	}
	opts.Size, opts.Digest = s.length, sum
	return opts, err
}

// sum returns the digest of the stream.
func (s *stream) sum() (string, error) {
	tree, err := digest.NewTree(digest.XXH3, s.length)
	if err != nil {
		return "", err
	}
	for _, d := range s.leaves {
		tree.Add(d[:])
	}
	return tree.Sum(), nil
}

// checkExpected compares what came with what the caller said would.
func (s *stream) checkExpected(opts pfs.CommitOptions, sum string) error {
	const op = "transfer.FromReader"
	if opts.Size != 0 && opts.Size != s.length {
		return pfs.Errorf(op, s.target.Path, pfs.Integrity, "the stream has %d bytes, %d were announced: send it again", s.length, opts.Size)
	}
	if opts.Digest != "" && opts.Digest != sum {
		return pfs.Errorf(op, s.target.Path, pfs.Integrity, "the stream gives %s, %s was announced: send it again", sum, opts.Digest)
	}
	return nil
}
