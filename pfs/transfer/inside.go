package transfer

import (
	"context"
	"errors"
	"reflect"

	"github.com/paddlecloud/pfs/pfs"
)

// sameFS reports whether two file systems are one value. Values that cannot be
// compared are different. To its client a service is one file system, so the service itself
// copies between its stores.
func sameFS(a, b pfs.FileSystem) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// inside copies the file within its file system, so that its bytes do not pass through
// this process. It answers Unsupported or CrossStore where the file system cannot do
// that.
func (c *fileCopy) inside(ctx context.Context) (info pfs.Info, err error) {
	const op = "transfer.Copy"
	if c.plainMode || !sameFS(c.source.FS, c.target.FS) {
		return info, pfs.E(op, c.target.Path, pfs.Unsupported, nil)
	}
	progress := func(done int64) {
		before := c.done.Swap(done)
		c.j.count.bytesDone.Add(done - before)
		c.tell(done)
	}
	opts := c.opts
	if opts.ID == "" {
		opts.ID = c.stagedID() // so that a repeated copy resumes
	}
	err = c.j.retry(ctx, c.name, func(ctx context.Context) error {
		info, err = pfs.CopyInside(ctx, c.target.FS, c.source.Path, c.target.Path, opts, progress)
		return err
	})
	if err == nil {
		progress(info.Size)
	} else {
		c.restart()
	}
	return info, err
}

// insideBatch reports whether a small file can be copied within its file system together
// with others.
func (r *run) insideBatch(it *item) bool {
	_, ok := it.target.FS.(pfs.BatchCopier)
	return ok && !r.j.opts.NewMode && it.source.Path != it.target.Path
}

// copyBatch copies small files within their file system.
func copyBatch(ctx context.Context, fsys pfs.BatchCopier, slots []*slot) []error {
	files := make([]pfs.BatchCopy, len(slots))
	for i, s := range slots {
		files[i] = pfs.BatchCopy{
			Source: s.it.source.Path, Target: s.it.target.Path, Size: s.it.info.Size,
			NoReplace: s.entry.NoReplace, NewTime: s.entry.ModTime.IsZero(),
		}
	}
	errs := fsys.CopyBatch(ctx, files)
	for i, s := range slots {
		s.entry.Digest = files[i].Digest
	}
	return errs
}

// cannot reports whether err means that a file system lacks the operation, so that the job must use
// another one.
func cannot(err error) bool {
	return errors.Is(err, pfs.Unsupported) || errors.Is(err, pfs.CrossStore)
}

// anywhere copies the file inside its file system if that is possible, and else through
// this process.
func (c *fileCopy) anywhere(ctx context.Context) (pfs.Info, error) {
	info, err := c.inside(ctx)
	if cannot(err) {
		return c.run(ctx)
	}
	return info, err
}
