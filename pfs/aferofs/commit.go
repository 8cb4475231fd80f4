package aferofs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "aferofs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.u.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.u.name); err != nil {
		return pfs.Info{}, err
	}
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	if done := w.done(); done != nil {
		w.ended.Store(true)
		return *done, w.s.syncDir(op, w.u.name.Parent())
	}
	if err := w.check(op, opts); err != nil {
		return pfs.Info{}, err
	}
	if err := w.prepare(op, opts); err != nil {
		return pfs.Info{}, err
	}
	info, err := w.publish(op, opts)
	if err != nil {
		return pfs.Info{}, err
	}
	w.ended.Store(true)
	return info, w.s.syncDir(op, w.u.name.Parent())
}

// done returns what was published already, by this handle or another.
func (w *staged) done() *pfs.Info {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	return w.u.done
}

// check answers whether the staged bytes can be published, before anything is done
// to them.
func (w *staged) check(op string, opts pfs.CommitOptions) error {
	if w.ended.Load() {
		return pfs.E(op, w.u.name, pfs.Closed, nil)
	}
	if err := w.mayPublish(op, opts); err != nil {
		return err
	}
	if err := w.open(op); err != nil {
		return err
	}
	fi, err := w.u.file.Stat()
	if err != nil {
		return fail(op, w.u.name, err)
	}
	if fi.Size() < opts.Size {
		return pfs.Errorf(op, w.u.name, pfs.Integrity, "%d of %d bytes were staged", fi.Size(), opts.Size)
	}
	return nil
}

// mayPublish answers for the name and for the upload.
func (w *staged) mayPublish(op string, opts pfs.CommitOptions) error {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	if err := w.s.checkPlace(op, w.u.name, opts.NoReplace); err != nil {
		return err
	}
	return w.checkKept(op)
}

// prepare makes the temporary what the file will be, durably, but for the
// permissions. It is closed first: afero's memory sets the time of a file when it
// is closed.
func (w *staged) prepare(op string, opts pfs.CommitOptions) error {
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	err := w.u.file.Truncate(opts.Size)
	if e := w.u.close(); err == nil {
		err = e
	}
	if err == nil {
		err = w.s.afs.Chtimes(w.u.temp, mtime, mtime)
	}
	if err == nil {
		err = w.s.sync(w.u.temp)
	}
	return fail(op, w.u.name, err)
}

// publish gives the temporary the name of the file.
func (w *staged) publish(op string, opts pfs.CommitOptions) (pfs.Info, error) {
	s, u := w.s, w.u
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkPlace(op, u.name, opts.NoReplace); err != nil {
		return pfs.Info{}, err
	}
	if err := w.checkKept(op); err != nil {
		return pfs.Info{}, err
	}
	err := s.afs.Chmod(u.temp, opts.Perm())
	if err == nil {
		err = s.afs.Rename(u.temp, s.real(u.name))
	}
	if err != nil {
		return pfs.Info{}, fail(op, u.name, err)
	}
	s.forget(u)
	s.gone(u.name)
	fi, err := s.lstat(s.real(u.name))
	if err != nil {
		return pfs.Info{}, fail(op, u.name, err)
	}
	s.generations.changed(u.name, fi)
	info := s.info(u.name, fi)
	u.done = &info
	return info, nil
}
