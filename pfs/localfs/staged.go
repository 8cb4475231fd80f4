package localfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// staged is an upload: an open temporary in the directory of its target.
type staged struct {
	fs      *FS
	name    pfs.Path
	id      string
	resumed bool

	dir  dir // of the target
	in   []*tree
	base string // the target
	temp string // the temporary
	file *os.File
	from stat // identity of file

	claimed *claim
	spare   int64 // bytes of the file that will be replaced, which need no quota
	extra   int64 // 1 if no file will be replaced

	lock  shared
	dirty atomic.Int64 // bytes written since write-back last began

	mu    sync.RWMutex // held for reading by users of file, for writing by what closes it
	state state
	freed bool     // file is closed, and the claim ended
	done  pfs.Info // what Commit published

	syncing sync.Mutex                // held by a sync until its failure is recorded
	lost    atomic.Pointer[pfs.Error] // why the staged bytes are gone
}

var (
	_ pfs.Staged       = (*staged)(nil)
	_ pfs.LeafDigester = (*staged)(nil)
	_ pfs.Identifier   = (*staged)(nil)
)

// state is the progress of an upload.
type state uint8

const (
	writing state = iota
	committed
	ended
)

// named returns a name beside the target.
func (w *staged) named(name string) named { return named{place{w.dir, w.in}, name} }

// tempID identifies the temporary.
func (w *staged) tempID() tempID { return newTempID(w.temp, w.from) }

// needs returns the quota that size staged bytes need.
func (w *staged) needs(size int64) need {
	return need{limits{max(0, size-w.spare), w.extra}, limits{size, 1}}
}

func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// use calls do while this handle may write the temporary: it is neither ended, nor was the
// temporary committed or removed through another handle.
func (w *staged) use(op string, do func() error) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return err
	}
	if err := w.lock.acquire(); err != nil {
		return fail(op, w.name, err)
	}
	defer w.lock.release()
	if err := w.live(op); err != nil {
		return err
	}
	return fail(op, w.name, do())
}

// usable returns the error of a handle that has ended. The caller holds w.mu.
func (w *staged) usable(op string) error {
	if w.state != writing {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	if lost := w.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// live reports whether the temporary still has its name. The caller holds the lock, so it keeps it.
func (w *staged) live(op string) error {
	st, err := w.dir.stat(w.temp, false)
	if err == nil && st.same(w.from) {
		return nil
	}
	if err != nil && !missing(err) {
		return fail(op, w.name, err)
	}
	return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q is gone: another handle committed or discarded it, or it expired", w.id)
}

// WriteAt writes p at offset off.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.Staged.WriteAt"
	return pfs.InChunks(ctx, op, w.name, p, off, func(p []byte, off int64) (n int, err error) {
		err = w.use(op, func() (err error) {
			n, err = w.write(p, off)
			return w.fs.full(op, w.name, w.dir, int64(len(p)-n), err)
		})
		return n, err
	})
}

// write writes one chunk and starts its way to the disk, so that the sync of Commit is short. Small
// writes are collected.
func (w *staged) write(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if err := w.claimed.reach(w.needs(end)); err != nil {
		return 0, err
	}
	n, err := writeSparse(w.file, p, off)
	w.wrote(off, int64(n))
	return n, err
}

// wrote counts n new bytes at off and begins write-back when enough have come.
func (w *staged) wrote(off, n int64) {
	const much = 1 << 20
	switch {
	case n >= much:
		startWriteback(w.file, off, n)
	case w.dirty.Add(n) >= pfs.ChunkSize:
		w.dirty.Store(0)
		startWriteback(w.file, 0, 0) // the whole file
	}
}

// ReadAt reads staged bytes.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.Staged.ReadAt"
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	return readAt(ctx, op, w.name, w.file, p, off)
}

// Sync makes the written bytes durable.
func (w *staged) Sync(ctx context.Context) error {
	const op = "localfs.Staged.Sync"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return err
	}
	err := w.use(op, func() error {
		if err := w.syncFile(op); err != nil {
			return err
		}
		return w.fs.syncDir(w.dir) // the name of the temporary
	})
	if w.lost.Load() != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.free(op, false)
	}
	return err
}

// syncFile syncs the temporary. After a failure the next sync would succeed without the bytes, so
// syncFile does not retry, and the staged bytes are lost.
func (w *staged) syncFile(op string) error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if lost := w.lost.Load(); lost != nil {
		return lost
	}
	err := w.fs.sync(w.file)
	if err == nil {
		return nil
	}
	lost := &pfs.Error{Op: op, Path: w.name, Kind: kindOf(err),
		Err: fmt.Errorf("the disk did not accept the bytes: send them again: %w", posix.Cause(err))}
	w.lost.Store(lost)
	return lost
}

// Suspend ends this handle and keeps the staged bytes.
func (w *staged) Suspend(context.Context) error { return w.end("localfs.Staged.Suspend", true) }

// Close discards the upload, unless Commit or Suspend came first.
func (w *staged) Close(context.Context) error { return w.end("localfs.Staged.Close", false) }

// end ends the handle.
func (w *staged) end(op string, keep bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == ended {
		return nil
	}
	err := w.free(op, keep)
	w.state = ended
	return fail(op, w.name, errors.Join(err, w.dir.Close()))
}

// free closes the temporary and ends the claim, once. The file is closed early, so that the disk
// frees the bytes as soon as it has no name. An unpublished temporary is discarded, unless it is to
// be kept and is not lost. The caller holds w.mu.
func (w *staged) free(op string, keep bool) error {
	if w.freed {
		return nil
	}
	w.freed = true
	keep = keep && w.lost.Load() == nil
	var err error
	if w.state == writing && !keep {
		err = w.discard(op)
	}
	w.leave(keep)
	return errors.Join(err, w.file.Close())
}

// discard removes the temporary if it is still that of this handle.
func (w *staged) discard(op string) error {
	if err := lockFile(w.file, true); err != nil {
		return err
	}
	if w.live(op) != nil {
		return nil
	}
	return posix.UnlessMissing(w.dir.unlink(w.temp))
}

// leave ends the claim with the last handle. The totals then include the kept bytes.
func (w *staged) leave(keep bool) {
	if release, err := w.fs.hold(w.named(w.temp)); err == nil {
		defer release()
	}
	if !w.fs.quotas.leave(w.tempID()) {
		return
	}
	var kept sums
	if st, err := w.dir.stat(w.temp, false); keep && err == nil && st.same(w.from) {
		kept = stagedSums(st)
	}
	w.claimed.book(kept)
}

// identity is the Identity of a temporary.
type identity struct {
	fs   *FS
	temp tempID
	dir  pfs.Path // where the system has no inodes that tell temporaries apart
}

// Identity returns the identity of the temporary.
func (w *staged) Identity() any {
	i := identity{fs: w.fs, temp: w.tempID()}
	if w.from.ino == 0 {
		i.dir = w.name.Parent()
	}
	return i
}

// LeafDigests reads the staged bytes leaf by leaf. Other leaves may be written meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "localfs.Staged.LeafDigests", w.name, w.ReadAt, size, first, n)
}
