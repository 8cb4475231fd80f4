package aferofs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Create begins a staged write of name, or goes on with one. The size is not used:
// afero cannot reserve space.
func (s *store) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "aferofs.Create"
	if err := s.begin(ctx, op, name); err != nil {
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
	id := opts.ID
	if id == "" {
		id = pfs.NewID()
	}
	u, err := s.upload(op, name, id, opts.Reopen)
	if err != nil {
		return nil, err
	}
	u.handles++
	return &staged{s: s, u: u, resumed: u.wrote.Load()}, nil
}

// checkPlace checks that a file may be published as name now: over a file or link,
// or, if exclusive, over nothing. The lock is held.
func (s *store) checkPlace(op string, name pfs.Path, exclusive bool) error {
	old, err := s.taken(op, name)
	switch {
	case err != nil:
		return err
	case old != nil && old.IsDir():
		return pfs.E(op, name, pfs.IsDir, nil)
	case old != nil && exclusive:
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return nil
}

// staged is a handle of an upload.
type staged struct {
	s       *store
	u       *upload
	resumed bool
	ended   atomic.Bool // by Commit, Suspend or Close
}

var (
	_ pfs.Staged       = (*staged)(nil)
	_ pfs.LeafDigester = (*staged)(nil)
	_ pfs.Identifier   = (*staged)(nil)
)

func (w *staged) Identity() any { return w.u }

func (w *staged) ID() string    { return w.u.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// use locks the upload and opens its temporary if need be. done must be called
// where err is nil.
func (w *staged) use(op string) (done func(), err error) {
	w.u.mu.Lock()
	if err := w.open(op); err != nil {
		w.u.mu.Unlock()
		return nil, err
	}
	return w.u.mu.Unlock, nil
}

// open is use with the upload locked.
func (w *staged) open(op string) error {
	if w.ended.Load() {
		return pfs.E(op, w.u.name, pfs.Closed, nil)
	}
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	if err := w.checkKept(op); err != nil {
		return err
	}
	if w.u.file != nil {
		return nil
	}
	return fail(op, w.u.name, w.s.open(w.u))
}

// checkKept answers Conflict if the upload is gone. The lock is held.
func (w *staged) checkKept(op string) error {
	if w.u.gone {
		return pfs.Errorf(op, w.u.name, pfs.Conflict, "the staged write %s is gone: begin a new one", w.ID())
	}
	return nil
}

func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	return inChunks(ctx, "aferofs.Staged.WriteAt", w.u.name, p, off, w.write)
}

// write stages one chunk.
func (w *staged) write(op string, p []byte, off int64) (int, error) {
	done, err := w.use(op)
	if err != nil {
		return 0, err
	}
	defer done()
	n, err := w.u.file.WriteAt(p, off)
	if n > 0 {
		w.u.wrote.Store(true)
	}
	return n, fail(op, w.u.name, err)
}

func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return inChunks(ctx, "aferofs.Staged.ReadAt", w.u.name, p, off, w.read)
}

// read reads one chunk back.
func (w *staged) read(op string, p []byte, off int64) (int, error) {
	done, err := w.use(op)
	if err != nil {
		return 0, err
	}
	defer done()
	return readAt(op, w.u.name, w.u.file, p, off)
}

func (w *staged) Sync(ctx context.Context) error {
	const op = "aferofs.Staged.Sync"
	if err := pfs.CheckContext(ctx, op, w.u.name); err != nil {
		return err
	}
	done, err := w.use(op)
	if err != nil {
		return err
	}
	defer done()
	return fail(op, w.u.name, w.u.file.Sync())
}

// LeafDigests returns the digests of the leaves that were staged in full.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "aferofs.Staged.LeafDigests", w.u.name, w.ReadAt, size, first, n)
}

func (w *staged) Suspend(context.Context) error { return w.end("aferofs.Staged.Suspend", false) }

func (w *staged) Close(context.Context) error { return w.end("aferofs.Staged.Close", true) }

// end ends the use of the handle, and of the upload if it is the last one or if
// the upload is to be discarded.
func (w *staged) end(op string, discard bool) error {
	if w.ended.Swap(true) {
		return nil
	}
	u, s := w.u, w.s
	u.mu.Lock()
	defer u.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	u.handles--
	if u.handles > 0 && !discard && !u.gone {
		return nil
	}
	err := u.close()
	if discard && !u.gone {
		if e := s.afs.Remove(u.temp); err == nil {
			err = e
		}
	}
	s.forget(u)
	return fail(op, u.name, err)
}
