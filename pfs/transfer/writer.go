package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// StreamWindow is how many bytes of a stream are kept in memory until the target
// has made them durable, so that they can be sent again.
const StreamWindow = 32 << 20

// halfWindow is the number of chunks that are made durable at once, while as many
// more are read and sent.
const halfWindow = StreamWindow / pfs.ChunkSize / 2

// Writer uploads a file whose bytes come once, in order. It keeps bytes until they are durable
// at the target, and sends them again if the target loses them: in memory, up to StreamWindow
// bytes and less if the memory of the job is short, or, for a target that is written in long
// pieces, in a temporary file (see Resending).
//
// Write the bytes, then Commit. To publish several files together, Seal each and Commit all of
// them at the end. Close always: it discards a file that was not committed. A Writer is for one
// goroutine. Its context ends with Close.
type Writer struct {
	j      *Job
	target End
	id     string
	opts   WriterOptions
	ctx    context.Context // ends with the first failure, which is its cause
	cancel context.CancelCauseFunc

	buf       []byte // being filled by Write; nil if nothing is in it
	fill      int    // bytes in buf
	length    int64  // bytes that were taken from Write
	sealed    bool   // nothing more is written
	committed bool
	sums      sums
	keeper    keeper

	crowded func() bool // reports whether chunks are kept no longer than a call; nil: never
}

// WriterOptions are the known properties of a file before it is written.
type WriterOptions struct {
	Size      int64  // size announced to the target; 0 if unknown
	Algorithm string // computes a second digest for Writer.Digest, such as digest.BLAKE3; empty for none
}

// keeper writes chunks and keeps them until they are durable.
type keeper interface {
	// reserve reserves memory in the pool for the next chunk.
	reserve(ctx context.Context) error
	// put begins to write the next chunk, whose buffer it takes over.
	put(ctx context.Context, p []byte) error
	// end returns when every chunk was written once. Nothing is put after it.
	end(ctx context.Context) error
	// seal makes the written bytes durable. They need not be kept afterwards.
	seal(ctx context.Context) error
	commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error)
	suspend(ctx context.Context) error
	// reopen goes on after suspend.
	reopen(ctx context.Context) error
	// close discards an upload that was neither committed nor suspended.
	close(ctx context.Context)
}

// NewWriter begins the upload of the file target.
func (j *Job) NewWriter(ctx context.Context, target End, opts WriterOptions) (*Writer, error) {
	j.spend(ctx)
	w := &Writer{j: j, target: target, id: pfs.NewID(), opts: opts}
	w.sums.second = opts.Algorithm
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	s := &stream{w: w}
	if err := s.create(w.ctx, false); err != nil {
		w.cancel(nil)
		return nil, err
	}
	w.keeper = s
	if s.staged.Unit() > pfs.ChunkSize {
		w.keeper = newPieceStream(w, s.staged)
	}
	return w, nil
}

// Write takes p. A failure may come with a later call.
func (w *Writer) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if w.buf == nil {
			w.buf = w.j.pool.buffer() // not of the pool's budget while it is filled: other writers may have to go on first
		}
		k := copy(w.buf[w.fill:], p[n:])
		n, w.fill = n+k, w.fill+k
		if w.fill == len(w.buf) {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes the buffer to the target.
func (w *Writer) flush() error {
	p := w.buf[:w.fill]
	w.buf, w.fill = nil, 0
	if err := w.keeper.reserve(w.ctx); err != nil {
		return w.failed(err)
	}
	return w.put(p)
}

// put passes on the next chunk.
func (w *Writer) put(p []byte) error {
	w.length += int64(len(p))
	return w.failed(w.keeper.put(w.ctx, p))
}

// failed returns the error that ended the work of w, if err is not nil: the first failure stops
// everything else.
func (w *Writer) failed(err error) error {
	if first := context.Cause(w.ctx); err != nil && first != nil && pfs.KindOf(first) != pfs.Canceled {
		return first
	}
	return err
}

// end returns when every byte was written once.
func (w *Writer) end() error {
	if w.sealed {
		return nil
	}
	if w.fill > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if err := w.keeper.end(w.ctx); err != nil {
		return w.failed(err)
	}
	w.sealed = true
	return nil
}

// Seal ends the writing and makes the bytes durable at the target. They are no longer kept here.
func (w *Writer) Seal() error {
	if err := w.end(); err != nil {
		return err
	}
	return w.failed(w.keeper.seal(w.ctx))
}

// Suspend closes the handle of a sealed file until Commit.
func (w *Writer) Suspend() error { return w.keeper.suspend(w.ctx) }

// Commit publishes the file. If opts.Size or opts.Digest (XXH3) is set, a file with another size or
// digest returns Integrity and is not published.
func (w *Writer) Commit(opts pfs.CommitOptions) (info pfs.Info, err error) {
	if err := w.end(); err != nil {
		return info, err
	}
	if opts, err = w.stated(opts); err != nil {
		return info, err
	}
	if err := w.keeper.reopen(w.ctx); err != nil {
		return info, err
	}
	info, err = w.keeper.commit(w.ctx, opts)
	w.committed = err == nil
	return info, w.failed(err)
}

// Close ends the use of w, and discards the file unless it was committed.
func (w *Writer) Close(ctx context.Context) {
	w.cancel(nil)
	w.buf = nil
	if !w.committed {
		_ = w.keeper.reopen(ctx) // an upload that cannot be opened is removed after the retention period
	}
	w.keeper.close(ctx)
}

// Digest returns the digest by WriterOptions.Algorithm, after Seal or Commit.
func (w *Writer) Digest() (string, error) { return w.sums.digest(w.opts.Algorithm, w.length) }

// keepsFile reports whether bytes are kept in a temporary file.
func (w *Writer) keepsFile() bool {
	_, pieces := w.keeper.(*pieceStream)
	return pieces
}

// stated returns opts with the size and digest of the stream, which the caller may have
// announced others of.
func (w *Writer) stated(opts pfs.CommitOptions) (pfs.CommitOptions, error) {
	sum, err := w.sums.digest(digest.XXH3, w.length)
	if err == nil {
		err = w.checkExpected(opts, sum)
	}
	opts.Size, opts.Digest = w.length, sum
	return opts, err
}

// checkExpected compares size and digest with the expected ones.
func (w *Writer) checkExpected(opts pfs.CommitOptions, sum string) error {
	const op = "transfer.FromReader"
	if opts.Size != 0 && opts.Size != w.length {
		return pfs.Errorf(op, w.target.Path, pfs.Integrity, "the stream has %d bytes, %d were announced: send it again", w.length, opts.Size)
	}
	if opts.Digest != "" && opts.Digest != sum {
		return pfs.Errorf(op, w.target.Path, pfs.Integrity, "the stream gives %s, %s was announced: send it again", sum, opts.Digest)
	}
	return nil
}

// write writes p to the upload through do, and counts it. It returns the hashes of p.
func (w *Writer) write(ctx context.Context, p []byte, do func() error) (leaf leafSums, err error) {
	release, err := w.j.slot(ctx)
	if err != nil {
		return leaf, err
	}
	defer release()
	leaf = w.sums.leaf(p)
	if err := w.j.pay(ctx, len(p)); err != nil {
		return leaf, err
	}
	if err := do(); err != nil {
		return leaf, err
	}
	done := w.j.count.bytesDone.Add(int64(len(p)))
	w.j.emit(Event{Kind: Progress, Target: w.target.Path, Size: -1, Bytes: done})
	return leaf, nil
}

// guard does a goroutine's work.
func (w *Writer) guard(do func() error) error {
	return pfs.Guard("transfer.Writer", w.target.Path, do)
}

// sums are the hashes of the leaves of a file: 16 bytes for every 4 MiB, and 32 more if there
// is a second algorithm.
type sums struct {
	second string
	leaves []leafSums
}

type leafSums struct {
	first  pfs.LeafDigest
	second []byte
}

func (s *sums) leaf(p []byte) leafSums {
	l := leafSums{first: digest.Leaf(p)}
	if s.second != "" {
		l.second = digest.LeafOf(s.second, p)
	}
	return l
}

// digest returns the digest of the file, whose leaves are all there.
func (s *sums) digest(algorithm string, size int64) (string, error) {
	tree, err := digest.NewTree(algorithm, size)
	if err != nil {
		return "", err
	}
	for _, l := range s.leaves {
		if algorithm == digest.XXH3 {
			tree.Add(l.first[:])
		} else {
			tree.Add(l.second)
		}
	}
	return tree.Sum(), nil
}
