package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// take decides how to process an item from the walker and hands it to the next stage.
func (r *run) take(ctx context.Context, it *item) {
	if it.info.IsRegular() {
		r.j.count.files.Add(1)
		r.j.count.bytes.Add(it.info.Size)
	} else {
		it.info.Size = 0 // links have no content
	}
	what, why := r.j.opts.decide(it)
	switch what {
	case copyIt:
		r.route(ctx, it)
	case compare:
		// A file that needs no work is not worth handing to another goroutine.
		if mode, time := r.j.otherAttributes(it); kept(it.info) && it.info.Digest == it.old.Digest && !mode && !time {
			r.skip(ctx, it, Equal)
			r.release(ctx, it)
		} else {
			r.compareLater(ctx, it)
		}
	case skipIt:
		r.skip(ctx, it, why)
		r.release(ctx, it)
	case refuse:
		r.failItem(it, pfs.Errorf("transfer.Copy", it.target.Path, pfs.IsDir, "a directory is where the %s %s should be: remove it first", it.what(), it.name))
		r.release(ctx, it)
	}
}

// what returns the type of an item for messages.
func (it *item) what() string {
	if it.info.IsLink() {
		return "link"
	}
	return "file"
}

// confirmed reports whether an item may be copied, and finishes one that may not.
func (r *run) confirmed(ctx context.Context, it *item) bool {
	if !it.exists || r.j.opts.Confirm == nil || r.j.opts.DryRun {
		return true
	}
	yes, err := r.j.opts.Confirm(ctx, it.target.Path)
	switch {
	case err != nil:
		r.failItem(it, err)
	case !yes:
		r.skip(ctx, it, Declined)
	default:
		return true
	}
	r.release(ctx, it)
	return false
}

// route hands an item that must be copied to the stage for its kind.
func (r *run) route(ctx context.Context, it *item) {
	if r.lacksRoom(it) {
		r.release(ctx, it)
		return
	}
	if !r.confirmed(ctx, it) {
		return
	}
	small := it.info.IsRegular() && it.info.Size <= maxSmall && !r.j.opts.DryRun
	switch {
	case sameFS(it.source.FS, it.target.FS) && !(small && r.insideBatch(it)):
		r.put(ctx, r.inside, it)
	case small:
		r.put(ctx, r.small, it)
	default:
		r.put(ctx, r.large, it)
	}
}

// compareItem finds out whether an item needs a copy.
func (r *run) compareItem(ctx context.Context, it *item) {
	same, err := r.j.same(ctx, it)
	switch {
	case err != nil && ctx.Err() != nil:
		r.release(ctx, it)
	case err != nil:
		// The copy solves the problem, or reports it.
		r.route(ctx, it)
	case !same:
		r.route(ctx, it)
	default:
		r.skip(ctx, it, Equal)
		r.release(ctx, it)
	}
}

// skip keeps the content of the target. If the contents are equal, the target still gets the
// time and mode of a copy.
func (r *run) skip(ctx context.Context, it *item, why Reason) {
	r.skipped(it, why)
	if why != Equal || !it.info.IsRegular() || r.j.opts.DryRun {
		return
	}
	if err := r.j.setAttributes(ctx, it); err != nil {
		r.failItem(it, err)
	}
}

// otherAttributes reports whether the target file should have another mode or time.
func (j *Job) otherAttributes(it *item) (mode, time bool) {
	perm := it.info.Mode.Perm()
	return !j.opts.NewMode && perm != 0 && perm != it.old.Mode.Perm(), !j.opts.NewTime && !sameTime(it.info.ModTime, it.old.ModTime)
}

// setAttributes gives the target file the mode and time of the source.
func (j *Job) setAttributes(ctx context.Context, it *item) error {
	mode, time := j.otherAttributes(it)
	if mode {
		if err := j.setAttr(ctx, it.name, it.target, pfs.AttrMode, pfs.Attrs{Mode: it.info.Mode.Perm()}); err != nil {
			return err
		}
	}
	if !time {
		return nil
	}
	return j.setAttr(ctx, it.name, it.target, pfs.AttrModTime, pfs.Attrs{ModTime: it.info.ModTime})
}

// setAttr sets attributes of e. Unsupported is no error, because the files of the store have no modes or times.
func (j *Job) setAttr(ctx context.Context, name pfs.Path, e End, mask pfs.AttrMask, attrs pfs.Attrs) error {
	err := j.retry(ctx, name, func(ctx context.Context) error { return pfs.SetAttr(ctx, e.FS, e.Path, mask, attrs) })
	if errors.Is(err, pfs.Unsupported) {
		return nil
	}
	return err
}

// copyItem copies one file or link.
func (r *run) copyItem(ctx context.Context, it *item) {
	defer r.release(ctx, it)
	if r.lacksRoom(it) {
		return
	}
	if err := it.dir.ensure(ctx); err != nil {
		r.failItem(it, err)
		return
	}
	switch {
	case r.j.opts.DryRun:
		r.tryItem(ctx, it)
	case it.info.IsLink():
		r.copyLink(ctx, it)
	default:
		r.copyFile(ctx, it)
	}
}

// tryItem is copyItem of a dry run: it reports an item as done that could be read and made.
func (r *run) tryItem(ctx context.Context, it *item) {
	err := r.j.retry(ctx, it.name, func(ctx context.Context) error {
		if !it.info.IsLink() {
			if err := pfs.CheckAccess(ctx, it.source.FS, pfs.Read, it.source.Path); err != nil {
				return err
			}
		}
		_, err := it.target.FS.Create(ctx, it.target.Path, pfs.CreateOptions{Size: it.info.Size})
		return err
	})
	if err != nil {
		r.failItem(it, err)
		return
	}
	r.j.count.bytesDone.Add(it.info.Size)
	r.done(it, Event{})
}

func (r *run) copyFile(ctx context.Context, it *item) {
	if it.info.Size > maxSmall {
		r.j.emit(Event{Kind: Start, Path: it.name, Target: it.target.Path, Size: it.info.Size})
	}
	var c *fileCopy
	var info pfs.Info
	var err error
	tight := r.tight.Load()
	if !tight {
		c, info, tight, err = r.tryBeside(ctx, it)
	}
	if tight {
		r.narrow.Lock()
		defer r.narrow.Unlock()
		if r.lacksRoom(it) {
			return
		}
		c, info, err = r.tryFile(ctx, it)
	}
	switch {
	case c.opts.NoReplace && errors.Is(err, pfs.Exist):
		c.restart()
		r.skipped(it, Exists)
	case err != nil:
		r.failItem(it, err)
	default:
		it.info.Size = info.Size
		r.done(it, Event{Resumed: c.resumed.Load(), Digest: info.Digest})
	}
}

// tryBeside copies a file once while others are copied. It reports whether there was no room for all of them.
func (r *run) tryBeside(ctx context.Context, it *item) (c *fileCopy, info pfs.Info, tight bool, err error) {
	r.narrow.RLock()
	defer r.narrow.RUnlock()
	c, info, err = r.tryFile(ctx, it)
	if tight = err != nil && isFull(pfs.KindOf(err)); tight {
		// Other files in progress may hold the space and may still release it.
		c.restart()
		r.tight.Store(true)
	}
	return c, info, tight, err
}

// tryFile copies a file once.
func (r *run) tryFile(ctx context.Context, it *item) (*fileCopy, pfs.Info, error) {
	c := &fileCopy{upload: newUpload(r.j, it.name, it.target), source: it.source, info: it.info, plainMode: r.j.opts.NewMode}
	c.opts = pfs.CopyOptions{NoReplace: r.j.opts.Overwrite == NoReplace, NewTime: r.j.opts.NewTime}
	info, err := c.anywhere(ctx)
	return c, info, err
}

// copyLink makes the same link at the target. It removes an existing entry first, because no
// store replaces a link in one step.
func (r *run) copyLink(ctx context.Context, it *item) {
	err := r.j.retry(ctx, it.name, func(ctx context.Context) error {
		err := pfs.MakeLink(ctx, it.target.FS, it.info.Target, it.target.Path)
		if !errors.Is(err, pfs.Exist) {
			return err
		}
		now, serr := it.target.FS.Stat(ctx, it.target.Path)
		if serr == nil && now.IsLink() && now.Target == it.info.Target {
			return nil // an earlier attempt made it, and the answer was lost
		}
		if !it.exists {
			return err
		}
		if err := it.target.FS.Remove(ctx, it.target.Path); err != nil && !errors.Is(err, pfs.NotExist) {
			return err
		}
		return pfs.MakeLink(ctx, it.target.FS, it.info.Target, it.target.Path)
	})
	if errors.Is(err, pfs.Unsupported) {
		err = pfs.Errorf("transfer.Copy", it.target.Path, pfs.Unsupported, "symbolic links")
	}
	if err != nil {
		r.failItem(it, err)
		return
	}
	r.done(it, Event{})
}
