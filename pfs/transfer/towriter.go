package transfer

import (
	"context"
	"errors"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// ToWriter writes length bytes of the file source from offset on to w, in order; a negative length
// means to the end. It reads ahead in parallel and returns the number of bytes written. If the
// source stores a digest and the whole file is read, ToWriter compares the digest at the end.
// Integrity then means that the bytes written are wrong, Conflict that the file changed meanwhile.
func (j *Job) ToWriter(ctx context.Context, source End, w io.Writer, offset, length int64) (int64, error) {
	j.spend(ctx)
	if offset < 0 {
		return 0, pfs.Errorf("transfer.ToWriter", source.Path, pfs.Invalid, "negative offset %d", offset)
	}
	name := source.Path
	f, err := j.openFile(ctx, source, name)
	if err != nil {
		source, f, err = j.openLink(ctx, source, err) // the store may not follow links
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d := &download{j: j, name: name, f: f, w: w, end: f.Info().Size}
	if length >= 0 && offset < d.end {
		d.end = offset + min(length, d.end-offset)
	}
	j.count.files.Add(1)
	j.count.bytes.Add(max(0, d.end-offset))
	j.count.complete.Store(true)
	if offset == 0 && d.end == f.Info().Size {
		if d.tree, err = digest.NewTree(digest.XXH3, d.end); err != nil {
			return 0, err
		}
	}
	if err := d.run(ctx, offset); err != nil {
		return d.written, err
	}
	if err := j.checkUnchanged(ctx, source, name, f.Info()); err != nil {
		return d.written, bare(err)
	}
	done := Event{Kind: Done, Path: name, Size: d.written, Bytes: d.written}
	if d.tree != nil {
		done.Digest = d.tree.Sum()
		if err := digest.CheckKept("transfer.Copy", name, f.Info(), done.Digest); err != nil {
			return d.written, err
		}
	}
	j.count.filesDone.Add(1)
	j.emit(done)
	return d.written, nil
}

// openFile opens e, which the caller knows as name, as often as may help.
func (j *Job) openFile(ctx context.Context, e End, name pfs.Path) (f pfs.File, err error) {
	err = j.retry(ctx, name, func(ctx context.Context) (err error) {
		f, err = e.FS.Open(ctx, e.Path)
		return err
	})
	return f, err
}

// openLink opens the target of the link e, which could not be opened itself because of err. If e is
// no link, openLink returns err. A store that follows no links answers Symlink; one that does
// answers NotExist for a link to nothing, and openLink finds out what is missing.
func (j *Job) openLink(ctx context.Context, e End, err error) (End, pfs.File, error) {
	switch {
	case errors.Is(err, pfs.Symlink):
	case !errors.Is(err, pfs.NotExist):
		return e, nil, err
	default:
		if info, serr := j.stat(ctx, e); serr != nil || !info.IsLink() {
			return e, nil, err
		}
	}
	to, err := ResolveLink(ctx, e.FS, e.Path)
	if err != nil {
		return e, nil, err
	}
	e.Path = to
	f, err := j.openFile(ctx, e, to)
	return e, f, err
}

// download writes a part of a file to a stream.
type download struct {
	j       *Job
	name    pfs.Path
	f       pfs.File
	w       io.Writer
	end     int64
	written int64
	tree    *digest.Tree // of a whole file
}

// run reads chunks in parallel and writes them in order.
func (d *download) run(ctx context.Context, offset int64) error {
	r := newReadAhead(ctx, d.j.pool, d.j.opts.Parallel+1, offset, d.end, d.read)
	defer r.release()
	for {
		c, err := r.take()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = d.write(ctx, c)
		}
		if err != nil {
			return err
		}
	}
}

func (d *download) read(ctx context.Context, c *aheadChunk) error {
	err := d.j.retry(ctx, d.name, func(ctx context.Context) error { return pfs.ReadFull(ctx, d.f, c.p, c.off) })
	if err == nil && d.tree != nil {
		c.digest = digest.Leaf(c.p)
	}
	return err
}

func (d *download) write(ctx context.Context, c *aheadChunk) error {
	if err := d.j.pay(ctx, len(c.p)); err != nil {
		return err
	}
	n, err := d.w.Write(c.p)
	d.written += int64(n)
	d.j.count.bytesDone.Add(int64(n))
	if err != nil {
		return pfs.E("transfer.ToWriter", d.name, pfs.KindOf(err), err)
	}
	if d.tree != nil {
		d.tree.Add(c.digest[:])
	}
	return nil
}
