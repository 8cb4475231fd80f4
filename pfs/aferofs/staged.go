package aferofs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/spf13/afero"
)

// upload is an upload with open handles. Every access opens its temporary, so nothing must be
// shared or reopened, and another process finds the upload by its name.
type upload struct {
	mu      sync.RWMutex // held for reading by accesses to the temporary, for writing by its end
	done    *pfs.Info    // what Commit published; set with both locks held
	handles int          // guarded by store.mu
}

// Create begins an upload of name, or resumes one. The size is not used: afero cannot
// reserve space.
func (s *store) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "aferofs.Create"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkPlace(op, name, false); err != nil {
		return nil, err
	}
	id := cmp.Or(opts.ID, pfs.NewID())
	w := &staged{s: s, name: name, id: id, temp: nameOf(name.Parent().Join(digest.StagedName(name.Base(), id)))}
	fi, err := s.lstat(w.temp)
	switch {
	case err == nil:
		w.resumed = fi.Size() > 0
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fail(op, name, err)
	case opts.Reopen:
		return nil, pfs.Errorf(op, name, pfs.Conflict, "there is no upload %s: begin a new one", id)
	default:
		f, err := s.afs.OpenFile(w.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, fail(op, name, err)
		}
	}
	if w.u = s.uploads[w.temp]; w.u == nil || w.u.done != nil {
		w.u = &upload{}
		s.uploads[w.temp] = w.u
	}
	w.u.handles++
	return w, nil
}

// checkPlace checks that a file may be published as name: over a file or link, or, if
// exclusive, over nothing. The lock is held.
func (s *store) checkPlace(op string, name pfs.Path, exclusive bool) error {
	old, err := s.taken(op, name)
	if err == nil && old != nil {
		err = rules.Publish(op, name, old.Mode(), exclusive)
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
func (w *staged) use(op string, do func(f afero.File) error) error {
	if w.ended {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	err := fs.ErrNotExist
	if w.u.done == nil {
		var f afero.File
		if f, err = w.s.afs.OpenFile(w.temp, os.O_RDWR, 0); err == nil {
			err = do(f)
			if closing := f.Close(); err == nil {
				err = closing
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %s is gone: begin a new one", w.id)
	}
	return err
}

func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "aferofs.Staged.WriteAt"
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (n int, err error) {
		w.u.mu.RLock()
		defer w.u.mu.RUnlock()
		err = w.use(op, func(f afero.File) (err error) { n, err = f.WriteAt(p, off); return err })
		return n, fail(op, w.name, err)
	})
}

func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "aferofs.Staged.ReadAt"
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (n int, err error) {
		w.u.mu.RLock()
		defer w.u.mu.RUnlock()
		err = w.use(op, func(f afero.File) (err error) { n, err = readAt(op, w.name, f, p, off); return err })
		return n, fail(op, w.name, err)
	})
}

func (w *staged) Sync(ctx context.Context) error {
	const op = "aferofs.Staged.Sync"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return err
	}
	w.u.mu.RLock()
	defer w.u.mu.RUnlock()
	return fail(op, w.name, w.use(op, afero.File.Sync))
}

func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "aferofs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	if w.u.done == nil {
		if err := w.prepare(op, opts); err != nil {
			return pfs.Info{}, err
		}
		if err := w.publish(op, opts); err != nil {
			return pfs.Info{}, err
		}
	}
	w.ended = true
	return *w.u.done, w.s.syncDir(op, w.name.Parent())
}

// prepare gives the temporary the size and times of the file, durably. It sets the times last,
// because a file in memory gets the time at which it is closed.
func (w *staged) prepare(op string, opts pfs.CommitOptions) error {
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	err := w.use(op, func(f afero.File) error {
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		if fi.Size() < opts.Size {
			return pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", fi.Size(), opts.Size)
		}
		return f.Truncate(opts.Size)
	})
	if err == nil {
		err = w.s.afs.Chtimes(w.temp, mtime, mtime)
	}
	if err == nil {
		err = w.s.sync(w.temp)
	}
	return fail(op, w.name, err)
}

// publish gives the temporary the name of the file.
func (w *staged) publish(op string, opts pfs.CommitOptions) error {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkPlace(op, w.name, opts.NoReplace); err != nil {
		return err
	}
	err := s.afs.Chmod(w.temp, opts.Perm())
	if err == nil {
		if err = s.afs.Rename(w.temp, nameOf(w.name)); err != nil {
			s.afs.Chmod(w.temp, 0o600) // so that it can be opened again
		}
	}
	if err != nil {
		return fail(op, w.name, err)
	}
	fi, err := s.lstat(nameOf(w.name))
	if err != nil {
		return fail(op, w.name, err)
	}
	info := s.info(w.name, fi)
	w.u.done = &info
	return nil
}

func (w *staged) Suspend(context.Context) error {
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	w.ended = true
	return nil
}

func (w *staged) Close(context.Context) (err error) {
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if !w.ended && w.u.done == nil {
		if err = w.s.afs.Remove(w.temp); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	w.ended = true
	if !w.released {
		w.released = true
		if w.u.handles--; w.u.handles == 0 && w.s.uploads[w.temp] == w.u {
			delete(w.s.uploads, w.temp)
		}
	}
	return fail("aferofs.Staged.Close", w.name, err)
}
