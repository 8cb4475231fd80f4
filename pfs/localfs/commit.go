package localfs

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Commit publishes: check, attributes, fsync, rename, fsync of the directory.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "localfs.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	st := w.st
	st.mu.Lock()
	defer st.mu.Unlock()
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	switch {
	case st.done != nil:
	case ended:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	case st.gone:
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Conflict, "the staged write %s was ended by another", st.id)
	default:
		info, err := w.publish(ctx, op, opts)
		if err != nil {
			return pfs.Info{}, fail(op, w.name, err)
		}
		st.done = &info
		w.fs.retire(st)
	}
	if w.end() {
		w.fs.free(st)
	}
	return *st.done, nil
}

// publish does the work of Commit. st.mu is held.
func (w *staged) publish(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	st := w.st
	have, err := statFile(st.f, st.base)
	if err != nil {
		return pfs.Info{}, err
	}
	if have.info.Size == 0 || opts.NoReplace {
		if info, ok := w.published(opts); ok {
			return info, w.discard()
		}
	}
	if have.info.Size < opts.Size {
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Integrity, "only %d of %d bytes were staged", have.info.Size, opts.Size)
	}
	old, err := w.replaced(op, opts)
	if err != nil {
		return pfs.Info{}, err
	}
	if err := w.account(ctx, op, opts.Size, old); err != nil {
		return pfs.Info{}, err
	}
	if err := w.finish(opts); err != nil {
		w.unaccount(opts.Size, old)
		return pfs.Info{}, err
	}
	rename := st.dir.rename
	if opts.NoReplace {
		rename = st.dir.renameExclusive
	}
	if err := rename(st.key.temp, st.dir, st.base); err != nil {
		w.unaccount(opts.Size, old)
		if errors.Is(err, os.ErrNotExist) {
			return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Conflict, "the staged write %s is gone: it was swept, or its directory removed", st.id)
		}
		return pfs.Info{}, err
	}
	if err := st.dir.sync(); err != nil {
		return pfs.Info{}, err
	}
	now, err := statFile(st.f, st.base)
	now.info.Digest = opts.Digest
	if fileMark(st.f).digest == "" {
		now.info.Digest = ""
	}
	return now.info, err
}

// published finds out whether this ID was committed before, by somebody who did not
// get the answer.
func (w *staged) published(opts pfs.CommitOptions) (pfs.Info, bool) {
	m := w.st.dir.mark(w.st.base)
	if m.id != w.st.id || opts.Digest != "" && m.digest != opts.Digest {
		return pfs.Info{}, false
	}
	now, err := w.st.dir.stat(w.st.base)
	if err != nil || now.info.Size != opts.Size {
		return pfs.Info{}, false
	}
	now.info.Digest = m.digestOf(now.info)
	return now.info, true
}

// replaced describes what Commit will replace; a zero Info if nothing.
func (w *staged) replaced(op string, opts pfs.CommitOptions) (pfs.Info, error) {
	old, err := w.st.dir.stat(w.st.base)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return pfs.Info{}, nil
	case err != nil:
		return pfs.Info{}, err
	case opts.NoReplace:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Exist, nil)
	case old.info.IsDir():
		return pfs.Info{}, pfs.E(op, w.name, pfs.IsDir, nil)
	}
	return old.info, nil
}

// account charges what the published file adds to what was staged, without what it
// replaces.
func (w *staged) account(ctx context.Context, op string, size int64, old pfs.Info) error {
	files := int64(1)
	if old.Name != "" {
		files = 0
	}
	return w.fs.quotas.charge(ctx, op, w.name, size-w.st.charged(w.st.length())-old.Size, files)
}

func (w *staged) unaccount(size int64, old pfs.Info) {
	files := int64(1)
	if old.Name != "" {
		files = 0
	}
	w.fs.quotas.refund(w.name, size-w.st.charged(w.st.length())-old.Size, files)
}

// finish gives the temporary its length and attributes and makes it durable.
func (w *staged) finish(opts pfs.CommitOptions) error {
	f := w.st.f
	// Also cuts off what was preallocated beyond the end.
	if err := f.Truncate(opts.Size); err != nil {
		return err
	}
	return finishFile(f, w.st.base, opts, w.st.id)
}

// finishFile gives f its attributes.
func finishFile(f *os.File, base string, opts pfs.CommitOptions, id string) error {
	if err := setAttributes(f, base, opts, id); err != nil {
		return err
	}
	return f.Sync()
}

func setAttributes(f *os.File, base string, opts pfs.CommitOptions, id string) error {
	if err := f.Chmod(opts.Perm()); err != nil {
		return err
	}
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	if err := setTime(f, mtime); err != nil {
		return err
	}
	now, err := statFile(f, base) // the time as the disk keeps it
	if err != nil {
		return err
	}
	setFileMark(f, mark{digest: opts.Digest, size: opts.Size, time: now.info.ModTime.UnixNano(), id: id})
	return nil
}
