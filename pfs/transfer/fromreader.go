package transfer

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// FromReader writes r to its end to the file target, through a Writer. A stream that fails leaves
// nothing behind.
//
// If opts.Size or opts.Digest (XXH3) is set, a stream with another size or digest returns Integrity
// and is not published. If FromReader fails, a Read of r may still be in progress when it returns.
func (j *Job) FromReader(ctx context.Context, target End, r io.Reader, opts pfs.CommitOptions) (info pfs.Info, err error) {
	j.count.files.Add(1)
	length := int64(0)
	w, err := j.NewWriter(ctx, target, WriterOptions{Size: opts.Size})
	if err == nil {
		info, err = w.copy(r, opts)
		length = w.length
		w.Close(ctx)
	}
	if err != nil {
		j.count.failed.Add(1)
		j.emit(Event{Kind: Failed, Target: target.Path, Size: -1, Bytes: length, Err: err})
		return pfs.Info{}, err
	}
	j.count.filesDone.Add(1)
	j.emit(Event{Kind: Done, Target: target.Path, Size: info.Size, Bytes: info.Size, Digest: info.Digest})
	return info, nil
}

// copy writes r to its end and publishes it.
func (w *Writer) copy(r io.Reader, opts pfs.CommitOptions) (info pfs.Info, err error) {
	src := newSource(r)
	defer close(src.ask)
	for end := false; !end; {
		err := w.keeper.reserve(w.ctx)
		if err == nil {
			end, err = w.take(src, w.j.pool.buffer())
		}
		if err != nil {
			return info, w.failed(err)
		}
	}
	return w.Commit(opts)
}

// take reads the next chunk into buf and passes it on. It reports whether the stream has
// ended.
func (w *Writer) take(src *source, buf []byte) (end bool, err error) {
	n, end, err := src.read(w.ctx, buf)
	var sent error
	switch {
	case n > 0:
		w.j.count.bytes.Add(int64(n))
		sent = w.put(buf[:n])
	case w.ctx.Err() != nil:
		w.j.pool.cancel() // the reader still has the buffer
	default:
		w.j.pool.put(buf)
	}
	if err != nil {
		return false, pfs.E("transfer.FromReader", w.target.Path, pfs.KindOf(err), err)
	}
	if end {
		w.j.count.complete.Store(true)
	}
	return end, sent
}
