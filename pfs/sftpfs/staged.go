package sftpfs

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/pkg/sftp"
)

// upload is an upload that is open in this process. Another process finds it by the name of its
// temporary.
type upload struct {
	mu      sync.RWMutex // held for reading by accesses to the temporary, for writing by its end
	done    *pfs.Info    // what Commit published
	handles int          // guarded by store.mu

	opening sync.Mutex
	c       *connection // of f
	f       *sftp.File
}

// Create begins an upload of name, or resumes one.
func (s *store) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "sftpfs.Create"
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	id := cmp.Or(opts.ID, pfs.NewID())
	w := &staged{s: s, name: name, id: id, temp: s.at(name.Parent().Join(digest.StagedName(name.Base(), id)))}
	err := s.call(ctx, op, name, func(c *connection) error {
		if err := s.checkPlace(c, op, name, false); err != nil {
			return err
		}
		found, err := c.Lstat(w.temp)
		switch {
		case err == nil:
			w.resumed = found.Size() > 0
			return nil
		case kindOf(err) != pfs.NotExist:
			return err
		case opts.Reopen:
			return pfs.Errorf(op, name, pfs.Conflict, "there is no upload %s: begin a new one", id)
		}
		f, err := c.OpenFile(w.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return s.full(c, op, name, err)
		}
		defer f.Close()
		return f.Chmod(0o600)
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.u = s.uploads[w.temp]; w.u == nil || w.u.done != nil {
		w.u = &upload{}
		s.uploads[w.temp] = w.u
	}
	w.u.handles++
	return w, nil
}

// checkPlace checks that a file may be published as name.
func (s *store) checkPlace(c *connection, op string, name pfs.Path, exclusive bool) error {
	if name == pfs.Root {
		return pfs.E(op, name, pfs.IsDir, nil)
	}
	old, there, err := s.look(c, op, name)
	if err == nil && there {
		err = rules.Publish(op, name, old.Mode, exclusive)
	}
	return err
}

// staged is a handle of an upload.
type staged struct {
	s        *store
	u        *upload
	name     pfs.Path
	id, temp string
	resumed  bool
	ended    bool // by Commit, Suspend or Close; guarded by u.mu
	released bool // by Close; guarded by s.mu
}

var _ pfs.Identifier = (*staged)(nil)

func (w *staged) Identity() any { return w.u }
func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// use calls do with the temporary. The upload is locked.
func (w *staged) use(ctx context.Context, op string, do func(c *connection, f *sftp.File) error) error {
	if w.ended {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	return w.s.call(ctx, op, w.name, func(c *connection) error {
		f, err := w.u.open(c, w.temp)
		if kindOf(err) == pfs.NotExist || w.u.done != nil {
			return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %s is gone: begin a new one", w.id)
		}
		if err == nil {
			err = w.s.full(c, op, w.name, do(c, f))
		}
		return err
	})
}

// open returns the temporary, open on the connection c.
func (u *upload) open(c *connection, temp string) (*sftp.File, error) {
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.c == c {
		return u.f, nil
	}
	f, err := c.OpenFile(temp, os.O_RDWR)
	if err == nil {
		u.c, u.f = c, f
	}
	return f, err
}

// close closes the temporary, if it is open.
func (u *upload) close() {
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.c != nil && !u.c.lost.Load() {
		u.f.Close()
	}
	u.c, u.f = nil, nil
}

func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "sftpfs.Staged.WriteAt"
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (n int, err error) {
		w.u.mu.RLock()
		defer w.u.mu.RUnlock()
		err = w.use(ctx, op, func(_ *connection, f *sftp.File) error { n, err = f.WriteAt(p, off); return err })
		return n, err
	})
}

func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "sftpfs.Staged.ReadAt"
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (n int, err error) {
		w.u.mu.RLock()
		defer w.u.mu.RUnlock()
		err = w.use(ctx, op, func(_ *connection, f *sftp.File) error { n, err = readAt(f, p, off); return err })
		return n, err
	})
}

func (w *staged) Sync(ctx context.Context) error {
	w.u.mu.RLock()
	defer w.u.mu.RUnlock()
	return w.use(ctx, "sftpfs.Staged.Sync", func(_ *connection, f *sftp.File) error { return f.Sync() })
}

func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "sftpfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if opts.ModTime.IsZero() {
		opts.ModTime = time.Now()
	}
	if err := checkTime(op, w.name, opts.ModTime); err != nil {
		return pfs.Info{}, err
	}
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	if w.u.done == nil {
		err := w.use(ctx, op, func(c *connection, f *sftp.File) error { return w.publish(c, f, op, opts) })
		if err != nil {
			return pfs.Info{}, err
		}
		w.u.close()
	}
	w.ended = true
	return *w.u.done, nil
}

// publish gives the temporary its size, attributes and name. It sets the mode last, because the file may
// then be closed to its own owner.
func (w *staged) publish(c *connection, f *sftp.File, op string, opts pfs.CommitOptions) error {
	if err := w.s.checkPlace(c, op, w.name, opts.NoReplace); err != nil {
		return err
	}
	found, err := f.Stat()
	if err != nil {
		return err
	}
	if found.Size() < opts.Size {
		return pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", found.Size(), opts.Size)
	}
	if found.Size() > opts.Size {
		if err := f.Truncate(opts.Size); err != nil {
			return err
		}
	}
	if err := c.Chtimes(w.temp, opts.ModTime, opts.ModTime); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Chmod(opts.Perm()); err != nil {
		return err
	}
	rename := c.PosixRename
	if opts.NoReplace {
		rename = c.Client.Rename // which makes a hard link, and fails if the name exists
	}
	if err := rename(w.temp, w.s.at(w.name)); err != nil {
		f.Chmod(0o600) // so that it can be opened again
		if err := w.s.checkPlace(c, op, w.name, opts.NoReplace); err != nil {
			return err
		}
		return err
	}
	if found, err = f.Stat(); err != nil {
		return err
	}
	info := w.s.info(c, w.name, attrs(found))
	w.u.done = &info
	return nil
}

func (w *staged) Suspend(context.Context) error {
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	w.ended = true
	return nil
}

// closeTime is how long Close tries to remove the temporary when the caller's context is done.
const closeTime = 3 * time.Second

func (w *staged) Close(ctx context.Context) (err error) {
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	if !w.ended && w.u.done == nil {
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeTime)
			defer cancel()
		}
		err = w.s.call(ctx, "sftpfs.Staged.Close", w.name, func(c *connection) error { return c.Remove(w.temp) })
		if kindOf(err) == pfs.NotExist {
			err = nil
		}
	}
	w.ended = true
	if w.release() {
		w.u.close()
	}
	return err
}

// release forgets the handle, and reports whether it was the last one of the upload.
func (w *staged) release() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.released {
		return false
	}
	w.released = true
	w.u.handles--
	if w.u.handles == 0 && w.s.uploads[w.temp] == w.u {
		delete(w.s.uploads, w.temp)
	}
	return w.u.handles == 0
}
