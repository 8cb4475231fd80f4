package localfs

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Commit publishes the file. It sets length, mode, time and stored digest, makes everything
// durable, and then gives the file its name.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "localfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case committed:
		return w.done, fail(op, w.name, w.fs.syncDir(w.dir))
	case ended:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	}
	if lost := w.lost.Load(); lost != nil {
		return pfs.Info{}, lost
	}
	info, err := w.commitLocked(ctx, op, opts)
	if w.state == committed || w.lost.Load() != nil {
		w.free(op, false)
	}
	if err != nil {
		return pfs.Info{}, fail(op, w.name, err)
	}
	return info, nil
}

// commitLocked is Commit with exclusive use of the handle.
func (w *staged) commitLocked(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := lockFile(w.file, true); err != nil {
		return pfs.Info{}, err
	}
	defer unlockFile(w.file)
	st, err := statFile(w.file)
	if err != nil {
		return pfs.Info{}, err
	}
	if err := w.live(op); err != nil || st.size < opts.Size {
		if info, ok := w.committedBefore(ctx, opts); ok {
			return info, w.wasCommitted(op, info)
		}
		if err != nil {
			return pfs.Info{}, w.parentGone(op, err)
		}
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", st.size, opts.Size)
	}
	if err := w.inPlace(op); err != nil {
		return pfs.Info{}, err
	}
	if info, done, err := w.target(ctx, op, opts); done || err != nil {
		return info, err
	}
	return w.publish(ctx, op, opts, st)
}

// parentGone returns the error of a missing parent directory, if it is missing.
func (w *staged) parentGone(op string, err error) error {
	if gone := w.inPlace(op); gone != nil {
		return gone
	}
	return err
}

// inPlace checks that the path still leads to the directory in which the file is staged.
func (w *staged) inPlace(op string) error {
	d, err := w.fs.openDir(relative(w.name.Parent()))
	if err != nil {
		return err
	}
	defer d.Close()
	now, err := d.stat(".", false)
	if err != nil {
		return err
	}
	then, err := w.dir.stat(".", false)
	if err != nil {
		return err
	}
	if !now.same(then) {
		return pfs.Errorf(op, w.name, pfs.Conflict, "its directory was moved or replaced since Create")
	}
	return nil
}

// target returns the existing file at the name. It fails early if that cannot be replaced, and
// adjusts the claim to the replaced size.
func (w *staged) target(ctx context.Context, op string, opts pfs.CommitOptions) (info pfs.Info, done bool, err error) {
	st, err := w.dir.stat(w.base, false)
	switch {
	case missing(err):
		w.spare, w.extra = 0, 1
	case err != nil:
		return pfs.Info{}, false, err
	case opts.NoReplace:
		if info, ok := w.committedBefore(ctx, opts); ok {
			return info, true, w.wasCommitted(op, info)
		}
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.Exist, nil)
	case st.mode.IsDir():
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.IsDir, nil)
	default:
		w.spare, w.extra = st.size, 0
	}
	return pfs.Info{}, false, w.claimed.reach(w.needs(opts.Size))
}

// publish publishes the temporary, which st describes.
func (w *staged) publish(ctx context.Context, op string, opts pfs.CommitOptions, st stat) (pfs.Info, error) {
	kept, err := w.fs.finalize(w.dir, w.temp, w.file, w.id, opts, st)
	if err != nil {
		return pfs.Info{}, err
	}
	if err := w.syncFile(op); err != nil {
		return pfs.Info{}, err
	}
	if info, done, err := w.giveName(ctx, op, opts); done || err != nil {
		return info, err
	}
	st, err = statFile(w.file)
	if err != nil {
		return pfs.Info{}, err
	}
	w.done = w.fs.info(w.name, st)
	w.done.Digest = kept
	return w.done, w.fs.syncDir(w.dir)
}

// giveName renames the temporary and books the change. Under a quota it checks the target again,
// which others may have replaced or removed during the sync.
func (w *staged) giveName(ctx context.Context, op string, opts pfs.CommitOptions) (info pfs.Info, done bool, err error) {
	err = w.fs.holding(w.named(w.base), w.temp, func() error {
		if len(w.in) > 0 {
			if info, done, err = w.target(ctx, op, opts); done || err != nil {
				return err
			}
		}
		if err := w.dir.rename(w.temp, w.dir, w.base, opts.NoReplace); err != nil {
			return err
		}
		w.state = committed
		w.claimed.book(sums{bytes: opts.Size - w.spare, files: w.extra})
		return nil
	})
	return info, done, err
}

// finalize gives the temporary temp, open as file, the attributes of the published file. It returns
// the digest that is stored with it.
func (f *FS) finalize(d dir, temp string, file *os.File, id string, opts pfs.CommitOptions, st stat) (kept string, err error) {
	if st.size > opts.Size {
		if err := file.Truncate(opts.Size); err != nil {
			return "", err
		}
	}
	if err := file.Chmod(opts.Perm()); err != nil {
		return "", err
	}
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	if err := d.chtimes(temp, time.Time{}, mtime, false); err != nil {
		return "", err
	}
	if st, err = statFile(file); err != nil {
		return "", err
	}
	m := digest.NewMark(id, opts, st.mtime)
	if m.Empty() {
		return "", nil
	}
	if f.writeMark(file, m) {
		return m.Digest, nil
	}
	return "", nil
}

// committedBefore reports whether the file that has the name now is the result of a Commit with
// this ID.
func (w *staged) committedBefore(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, bool) {
	file, err := w.dir.openFile(w.base, os.O_RDONLY, 0)
	if err != nil {
		return pfs.Info{}, false
	}
	defer file.Close()
	st, err := statFile(file)
	if err != nil || !st.mode.IsRegular() || st.size != opts.Size {
		return pfs.Info{}, false
	}
	m, marked := w.fs.readMark(file, st)
	switch {
	case st.same(w.from): // through another handle
	case marked && m.ID != "":
		if m.ID != w.id || opts.Digest != "" && m.Digest != "" && m.Digest != opts.Digest {
			return pfs.Info{}, false
		}
	case !w.fs.looksLike(ctx, file, st, opts):
		return pfs.Info{}, false
	}
	info := w.fs.info(w.name, st)
	info.Digest = m.Digest
	return info, true
}

// wasCommitted ends the handle as a Commit would, after another handle committed.
func (w *staged) wasCommitted(op string, info pfs.Info) error {
	w.state, w.done = committed, info
	w.claimed.release()
	if w.live(op) != nil {
		return nil
	}
	return posix.UnlessMissing(w.dir.unlink(w.temp))
}

// looksLike recognises a committed file where no digest could be stored: a file without one whose
// bytes have the given digest, or, if none is given, whose time is the requested one.
func (f *FS) looksLike(ctx context.Context, file *os.File, st stat, opts pfs.CommitOptions) bool {
	if _, err := f.attrs.get(file, digest.MarkAttribute, make([]byte, digest.MaxMark)); !errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if algorithm := digest.Algorithm(opts.Digest); digest.Known(algorithm) {
		got, err := digest.Of(ctx, fillFrom(file), st.size, algorithm, 1, nil)
		return err == nil && got == opts.Digest
	}
	return !opts.ModTime.IsZero() && st.mtime.Equal(opts.ModTime)
}

// fillFrom reads a file for a digest.
func fillFrom(file *os.File) digest.ReadFunc {
	return func(p []byte, off int64) error {
		_, err := file.ReadAt(p, off)
		return err
	}
}
