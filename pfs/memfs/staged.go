package memfs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// staged is an upload as one Create returned it; its bytes are in a stage.
type staged struct {
	fs      *FS
	st      *stage
	name    pfs.Path
	resumed bool
	ended   atomic.Bool // by Commit, Suspend or Close
}

var (
	_ pfs.Staged       = (*staged)(nil)
	_ pfs.LeafDigester = (*staged)(nil)
	_ pfs.Identifier   = (*staged)(nil)
)

func (w *staged) Identity() any { return w.st }

func (w *staged) ID() string    { return w.st.key.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// check refuses calls that come too late: after the end of w, or for a stage that another staged
// has ended or that was swept.
func (w *staged) check(op string) error {
	if w.ended.Load() {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	w.fs.mu.RLock()
	defer w.fs.mu.RUnlock()
	return w.checkKept(op)
}

func (w *staged) checkKept(op string) error {
	if w.st.gone {
		return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %s is gone: begin a new one", w.ID())
	}
	return nil
}

func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.Staged.WriteAt"
	if err := w.check(op); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (int, error) {
		w.st.mu.Lock()
		defer w.st.mu.Unlock()
		if len(p) == 0 {
			return 0, nil
		}
		if err := w.reserve(op, off+int64(len(p))); err != nil {
			return 0, err
		}
		w.st.data.writeAt(p, off)
		return len(p), nil
	})
}

// reserve counts the stage as size bytes long, if it is shorter.
func (w *staged) reserve(op string, size int64) error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if err := w.checkKept(op); err != nil {
		return err
	}
	if err := w.fs.checkGrowth(op, w.name, w.st, size); err != nil {
		return err
	}
	w.st.touched = now()
	if more := size - w.st.size; more > 0 {
		w.st.size += more
		w.fs.staged += more
	}
	return nil
}

func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.Staged.ReadAt"
	if err := w.check(op); err != nil {
		return 0, err
	}
	if err := w.fs.need(op, w.name, pfs.CanReadStaged); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (int, error) {
		w.st.mu.Lock()
		defer w.st.mu.Unlock()
		return w.st.data.readAt(p, off)
	})
}

// Sync has nothing to do: memory is as durable as this store gets.
func (w *staged) Sync(ctx context.Context) error {
	const op = "memfs.Staged.Sync"
	if err := w.check(op); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, w.name)
}

// LeafDigests returns the digests of the leaves that were staged in full.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "memfs.Staged.LeafDigests", w.name, w.ReadAt, size, first, n)
}

func (w *staged) Suspend(context.Context) error {
	w.ended.Store(true)
	return nil
}

func (w *staged) Close(context.Context) error {
	if w.ended.Swap(true) {
		return nil
	}
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	w.fs.discard(w.st)
	return nil
}
