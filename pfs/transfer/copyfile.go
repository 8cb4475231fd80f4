package transfer

import (
	"context"
	"errors"
	"reflect"

	"github.com/paddlecloud/pfs/pfs"
)

// CopyFile copies one file, as pfs.Copier does, but between any two file systems: the
// service copies between two of its stores with it. progress, if not nil, is called now
// and then with the bytes done so far. opts.ID, if not empty, replaces the ID that the
// job would choose. Whether to replace, and which time to set, is in opts alone.
func (j *Job) CopyFile(ctx context.Context, source, target End, opts pfs.CopyOptions, progress func(done int64)) (pfs.Info, error) {
	c := &fileCopy{j: j, source: source, target: target, name: source.Path, opts: opts, plainMode: j.opts.NewMode, progress: progress}
	j.count.files.Add(1)
	j.count.complete.Store(true)
	info, err := c.run(ctx)
	if err != nil {
		j.count.failed.Add(1)
		return info, err
	}
	j.count.filesDone.Add(1)
	return info, nil
}

// sameFS reports whether two file systems are one value. Values that cannot be
// compared are different.
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
		opts.ID = c.stagedID() // so that the same copy, run again, goes on
	}
	err = c.j.retryTemporary(ctx, c.name, func() error {
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

// cannot reports whether err says that a file system lacks what was asked for, so
// that another way must be taken.
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
