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

// Writer uploads a file whose bytes come once, in order. It keeps bytes until they are durable at the
// target, and sends them again if the target loses them. It keeps them in memory, up to StreamWindow bytes
// and fewer if the memory of the job is short. If the target's units are longer than a chunk, it writes chunk
// after chunk and keeps one unit in a file of os.TempDir.
//
// Write the bytes, then Commit. To publish several files together, Seal each and Commit all of
// them at the end. Close always: it discards a file that was not committed. A Writer is for one
// goroutine. Its context ends with Close.
type Writer struct {
	*upload
	ctx    context.Context // ends with the first failure, which is its cause
	cancel context.CancelCauseFunc

	buf       []byte // being filled by Write; nil if nothing is in it
	fill      int    // bytes in buf
	length    int64  // bytes that were taken from Write
	sealed    bool   // nothing more is written
	committed bool
	sums      sums

	kept    *spool     // the unit, if units are longer than a chunk
	unit    streamUnit // the unit in kept
	last    window     // the chunks in memory that are not being synced
	syncing chan error // reports when the previous window is durable; nil if there is none

	crowded func() bool // reports whether chunks are kept no longer than a call; nil: never
}

// streamUnit is the part [from, to) of a stream. The target has it in one generation of the upload.
type streamUnit struct {
	from, to int64
	written  int
}

// window is a sequence of chunks. In a stream with kept, written chunks are no longer in memory.
type window []*streamChunk

// streamChunk is one leaf of the stream.
type streamChunk struct {
	p       []byte
	off     int64
	before  *streamChunk // is written first, if order matters
	sums    leafSums
	written int // generation that has it
	err     error
	done    chan struct{} // closed when the first writing has ended
}

// WriterOptions are the known properties of a file before it is written.
type WriterOptions struct {
	Size      int64  // size announced to the target; 0 if unknown
	Algorithm string // computes a second digest for Writer.Digest, such as digest.BLAKE3; empty for none
}

// NewWriter begins the upload of the file target.
func (j *Job) NewWriter(ctx context.Context, target End, opts WriterOptions) (*Writer, error) {
	j.spend(ctx)
	w := &Writer{upload: newUpload(j, target.Path, target), sums: sums{second: opts.Algorithm}}
	w.opts = pfs.CreateOptions{ID: pfs.NewID(), Size: opts.Size}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if err := w.create(w.ctx, false); err != nil {
		w.cancel(nil)
		return nil, err
	}
	if unit := w.staged.Unit(); unit > pfs.ChunkSize {
		w.kept = newSpool(unit)
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
	return w.failed(w.put(p))
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
	err := w.awaitWindow()
	if err == nil {
		err = w.last.wait()
	}
	if err != nil {
		return w.failed(err)
	}
	if w.kept == nil {
		w.note(w.last)
	}
	w.sealed = true
	return nil
}

// Seal ends the writing and makes the bytes durable at the target. They are no longer kept here.
func (w *Writer) Seal() error {
	if err := w.end(); err != nil {
		return err
	}
	if err := w.sync(w.ctx, w.last); err != nil {
		return w.failed(err)
	}
	w.last = w.drop(w.last)
	w.unit.from = w.unit.to
	w.kept.close()
	return nil
}

// Suspend gives up the handle of a file that was sealed, until Commit.
func (w *Writer) Suspend() error { return w.suspend(w.ctx) }

// Commit publishes the file. If opts.Size or opts.Digest (XXH3) is set, a file with another size or
// digest returns Integrity and is not published.
func (w *Writer) Commit(opts pfs.CommitOptions) (info pfs.Info, err error) {
	if err := w.end(); err != nil {
		return info, err
	}
	if opts, err = w.stated(opts); err != nil {
		return info, err
	}
	if err := w.reopen(w.ctx); err != nil {
		return info, err
	}
	err = w.secure(w.ctx, w.last, func(staged pfs.Staged) error {
		info, err = w.j.commit(w.ctx, staged, w.target, opts)
		return err
	})
	w.committed = err == nil
	return info, w.failed(err)
}

// Close ends the use of w, and discards the file unless it was committed.
func (w *Writer) Close(ctx context.Context) {
	w.cancel(nil)
	w.buf = nil
	_ = w.last.wait()
	w.last = w.drop(w.last)
	_ = w.awaitWindow()
	w.kept.close()
	if !w.committed {
		_ = w.reopen(ctx) // an upload that cannot be opened is removed after the retention period
	}
	if w.staged != nil {
		_ = w.staged.Close(ctx)
	}
}

// Digest returns the digest by WriterOptions.Algorithm, after Seal or Commit.
func (w *Writer) Digest() (string, error) { return w.sums.digest(w.sums.second, w.length) }

// stated returns opts with the size and digest of the stream, which the caller may have
// announced others of.
func (w *Writer) stated(opts pfs.CommitOptions) (pfs.CommitOptions, error) {
	const op = "transfer.Writer"
	sum, err := w.sums.digest(digest.XXH3, w.length)
	switch {
	case err != nil:
	case opts.Size != 0 && opts.Size != w.length:
		err = pfs.Errorf(op, w.name, pfs.Integrity, "the stream has %d bytes, %d were announced: send it again", w.length, opts.Size)
	case opts.Digest != "" && opts.Digest != sum:
		err = pfs.Errorf(op, w.name, pfs.Integrity, "the stream gives %s, %s was announced: send it again", sum, opts.Digest)
	}
	opts.Size, opts.Digest = w.length, sum
	return opts, err
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
