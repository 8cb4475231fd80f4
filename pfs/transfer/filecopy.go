package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// fileCopy copies one file from one file system to another.
type fileCopy struct {
	*upload
	source    End
	opts      pfs.CopyOptions
	plainMode bool // the copy does not get the source's mode
	progress  func(done int64)

	file pfs.File
	info pfs.Info // the version of the source that is copied
	log  *journal

	compare bool // there are staged bytes to compare
	noted   bool // the journal is valid

	digest        string       // of the bytes that were read
	damaged       bool         // it differs from the digest that the source stores
	done, resumed atomic.Int64 // bytes of this pass
	kept          int64        // the most bytes that a pass found at the target
	sent          atomic.Int64 // bytes of all passes

	telling sync.Mutex // held while an event reports progress
	told    time.Time  // when that was last
}

// CopyFile copies one file, as pfs.Copier does, but between any two file systems: the
// service copies between two of its stores with it. progress, if not nil, is called now
// and then with the bytes done so far. opts.ID, if not empty, replaces the ID that the
// job would choose. Whether to replace, and which time to set, is in opts alone.
func (j *Job) CopyFile(ctx context.Context, source, target End, opts pfs.CopyOptions, progress func(done int64)) (pfs.Info, error) {
	j.spend(ctx)
	c := &fileCopy{upload: newUpload(j, source.Path, target), source: source, opts: opts, plainMode: j.opts.NewMode, progress: progress}
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

// endError records at which end of a copy an error occurred. NotExist at the source ends the copy;
// at the target it means that the upload is gone, and a new one begins.
type endError struct {
	err    error
	source bool
}

func (e *endError) Error() string { return e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

// changedError marks the error of a copy whose source changed meanwhile.
type changedError struct{ error }

func (e *changedError) Unwrap() error { return e.error }

// run copies the file, once more if it changed in the meantime.
func (c *fileCopy) run(ctx context.Context) (pfs.Info, error) {
	info, err := c.copyVersion(ctx)
	if changed := (*changedError)(nil); errors.As(err, &changed) {
		c.j.retried(c.name, 0, changed.error)
		c.restart()
		info, err = c.copyVersion(ctx)
	}
	return info, bare(err)
}

// bare returns err without the marks of this package.
func bare(err error) error {
	switch e := err.(type) {
	case *endError:
		return bare(e.err)
	case *changedError:
		return bare(e.error)
	}
	return err
}

// copyVersion copies the current version of the source.
func (c *fileCopy) copyVersion(ctx context.Context) (pfs.Info, error) {
	if err := c.open(ctx); err != nil {
		return pfs.Info{}, err
	}
	defer c.file.Close()
	c.upload.opts = pfs.CreateOptions{ID: c.stagedID(), Size: c.info.Size}
	if err := c.create(ctx, false); err != nil {
		return pfs.Info{}, &endError{err: err}
	}
	c.resume(ctx)
	info, err := c.copyWithRetries(ctx)
	if err != nil {
		c.leave(ctx, err)
	} else {
		_ = c.staged.Close(ctx) // it is published: this only releases the handle
	}
	return info, err
}

// open opens the source.
func (c *fileCopy) open(ctx context.Context) error {
	f, err := c.j.openFile(ctx, c.source, c.name)
	if err == nil {
		c.file, c.info = f, f.Info()
	}
	return err
}

// stagedID returns the ID of the upload of this version of the source to this target, so that a
// repeated copy finds its staged bytes.
func (c *fileCopy) stagedID() string {
	switch {
	case c.opts.ID != "":
		return c.opts.ID
	case c.j.opts.StagedID != nil:
		return c.j.opts.StagedID(c.info)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %d %d %q", c.j.opts.Origin, c.source.Path,
		c.info.Version, c.info.Size, c.info.ModTime.UnixNano(), c.target.Path)
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// resume reads the state of the upload after it was opened.
func (c *fileCopy) resume(ctx context.Context) {
	// The caller may have used its ID for other content. The journal then describes that content.
	c.compare, c.noted = c.staged.Resumed(), c.opts.ID == "" && c.j.opts.StagedID == nil
	c.log = openJournal(ctx, c.staged, c.info.Size)
}

// copyWithRetries fills the upload and commits it. It makes another pass over the file if the target lost staged
// bytes.
func (c *fileCopy) copyWithRetries(ctx context.Context) (info pfs.Info, err error) {
	for {
		if info, err = c.copyOnce(ctx); err == nil {
			return info, nil
		}
		if resumed := c.resumed.Load(); resumed > c.kept && resumed < c.info.Size {
			c.kept = resumed // more than any earlier pass found at the target
			c.gained(math.MaxInt64)
		}
		var end *endError
		if !errors.As(err, &end) {
			return info, err
		}
		// The journal may not match the source: compare all leaves then.
		if end.source && (!errors.Is(err, pfs.Integrity) || c.resumed.Load() == 0 || !c.noted) {
			return info, err
		}
		generation := c.generation
		if failed := c.repair(ctx, generation, whole, end.err); failed != nil {
			return info, &endError{err: failed, source: end.source}
		}
		if c.compare, c.noted = true, false; c.generation != generation {
			c.resume(ctx)
		}
		c.restart()
	}
}

// copyOnce sends the missing leaves and commits.
func (c *fileCopy) copyOnce(ctx context.Context) (pfs.Info, error) {
	err := c.sendMissing(ctx)
	if err == nil || mayBeChange(err) {
		if changed := c.checkSource(ctx); changed != nil {
			return pfs.Info{}, changed
		}
	}
	if err != nil {
		return pfs.Info{}, err
	}
	if err := c.checkDigest(); err != nil {
		return pfs.Info{}, err
	}
	return c.commit(ctx)
}

// mayBeChange reports whether a change of the source would explain err.
func mayBeChange(err error) bool {
	var end *endError
	if !errors.As(err, &end) || !end.source {
		return false
	}
	kind := pfs.KindOf(err)
	return kind != pfs.Canceled && !kind.Temporary()
}

// restart subtracts the reported progress.
func (c *fileCopy) restart() {
	c.j.count.bytesDone.Add(-c.done.Swap(0))
	c.j.count.bytesResumed.Add(-c.resumed.Swap(0))
}

// checkSource returns a changedError if the source changed since it was opened.
func (c *fileCopy) checkSource(ctx context.Context) error {
	return c.j.checkUnchanged(ctx, c.source, c.name, c.info)
}

// checkUnchanged answers a changedError unless source, or the file that it leads to,
// is still the version then.
func (j *Job) checkUnchanged(ctx context.Context, source End, name pfs.Path, then pfs.Info) error {
	const op = "transfer.Copy"
	var now pfs.Info
	err := j.retry(ctx, name, func(ctx context.Context) (err error) {
		now, err = source.FS.Stat(ctx, source.Path)
		return err
	})
	if err == nil && now.IsLink() {
		_, now, err = j.follow(ctx, source) // the file that Open opened
	}
	switch {
	case errors.Is(err, pfs.NotExist):
		return &changedError{pfs.Errorf(op, name, pfs.Conflict, "removed while it was copied")}
	case err != nil:
		return &endError{err: err, source: true}
	case !sameVersion(then, now):
		return &changedError{pfs.Errorf(op, name, pfs.Conflict,
			"changed while it was copied: copy it again when nobody writes to it")}
	}
	return nil
}

// sameVersion reports whether a and b describe the same version of one file.
func sameVersion(a, b pfs.Info) bool {
	if a.Version != "" && b.Version != "" {
		return a.Version == b.Version
	}
	return a.Size == b.Size && a.ModTime.Equal(b.ModTime)
}

// checkDigest compares the digest of the bytes read with the one that the source stores.
func (c *fileCopy) checkDigest() error {
	err := digest.CheckKept("transfer.Copy", c.name, c.info, c.digest)
	if c.damaged = err != nil; c.damaged {
		return &endError{err: err, source: true}
	}
	return nil
}

// leave ends the upload of a failed copy. The upload is kept for a later run, unless the source
// changed or is damaged, the target exists and is not replaced, nothing is staged, or space is
// exhausted: staged bytes occupy invisible space.
func (c *fileCopy) leave(ctx context.Context, err error) {
	var changed *changedError
	switch {
	case errors.As(err, &changed), errors.Is(err, pfs.Exist), isFull(pfs.KindOf(err)), c.damaged:
		_ = c.staged.Close(ctx)
	case c.sent.Load() == 0 && !c.staged.Resumed():
		_ = c.staged.Close(ctx)
	default:
		c.log.flush(context.WithoutCancel(ctx))
		_ = c.staged.Suspend(ctx)
	}
}

// account counts n bytes as done.
func (c *fileCopy) account(n int64, resumed bool) {
	if resumed {
		c.resumed.Add(n)
		c.j.count.bytesResumed.Add(n)
	} else {
		c.sent.Add(n)
		c.j.reached()
	}
	done := c.done.Add(n)
	c.j.count.bytesDone.Add(n)
	c.tell(done)
}

// takeBack subtracts n sent bytes that have to be sent again.
func (c *fileCopy) takeBack(n int64) {
	c.done.Add(-n)
	c.j.count.bytesDone.Add(-n)
}

// tellEvery is the interval between progress events of one file.
const tellEvery = 200 * time.Millisecond

// tell reports the progress of the file, unless another goroutine is doing so.
func (c *fileCopy) tell(done int64) {
	if !c.telling.TryLock() {
		return
	}
	defer c.telling.Unlock()
	if time.Since(c.told) < tellEvery {
		return
	}
	c.told = time.Now()
	if c.progress != nil {
		c.progress(done)
	}
	c.j.emit(Event{
		Kind: Progress, Path: c.name, Target: c.target.Path,
		Size: c.info.Size, Bytes: done, Resumed: c.resumed.Load(),
	})
}
