//go:build ceph

package cephfs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// staged is an upload: an open temporary in the directory of its target.
type staged struct {
	fs        FS
	name      pfs.Path
	id        string
	resumed   bool
	temp      string // name of the temporary
	from      stat   // identity of the temporary
	file      opened
	lock      shared
	behind    *writeBehind
	abandoned abandonedWrites

	mu    sync.RWMutex // held for reading while file is used, for writing to end its use
	state state
	done  pfs.Info // what Commit published
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

// Create begins an upload of name, or resumes one.
func (f FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.create(ctx, "cephfs.Create", name, opts)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f FS) create(ctx context.Context, op string, name pfs.Path, opts pfs.CreateOptions) (*staged, error) {
	if err := check(ctx, op, name); err != nil {
		return nil, err
	}
	if err := writable(op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	opts.ID = cmp.Or(opts.ID, pfs.NewID())
	return changeAt(ctx, f, op, name, []pfs.Path{name}, func(d *dir, base string) (*staged, error) {
		w := &staged{fs: f, name: name, id: opts.ID, temp: digest.StagedName(base, opts.ID)}
		w.behind = newWriteBehind(w)
		if err := w.begin(d, base, op, opts); err != nil {
			return nil, err
		}
		return w, nil
	}, func(w *staged) { w.file.close().drop() })
}

// begin checks the target and opens the temporary.
func (w *staged) begin(d *dir, base, op string, opts pfs.CreateOptions) error {
	st, err := d.stat(base)
	switch {
	case err == nil && st.mode.IsDir():
		return pfs.E(op, w.name, pfs.IsDir, nil)
	case err != nil && !missing(err):
		return err
	}
	if err := d.checkSpace(opts.Size - st.size); err != nil {
		return err
	}
	h, err := w.open(d, op, opts.Reopen)
	if err != nil {
		return err
	}
	w.resumed = w.from.size > 0
	w.file.h, w.file.again = h, w.openAgain
	return nil
}

// open opens the temporary, or makes it.
func (w *staged) open(d *dir, op string, reopen bool) (h *handle, err error) {
	for {
		h, w.from, err = d.openAs(w.temp, syscall.O_RDWR)
		switch {
		case missing(err) && reopen:
			return nil, pfs.Errorf(op, w.name, pfs.Conflict, "there is no upload %q: it was committed or discarded, or it expired", w.id)
		case missing(err):
			h, w.from, err = d.create(w.temp, 0o600, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL)
			if errors.Is(err, syscall.EEXIST) {
				continue // another handle has just made it
			}
			return h, err
		case err != nil:
			return nil, err
		case !w.from.mode.IsRegular():
			h.drop()
			return nil, pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q was tampered with: use another ID", w.id)
		case w.from.links > 1:
			// A Commit with NoReplace died between its two steps: this is a published file.
			h.drop()
			if err := posix.UnlessMissing(d.unlink(w.temp)); err != nil {
				return nil, err
			}
			continue
		}
		return h, nil
	}
}

// openAgain opens the temporary on another mount.
func (w *staged) openAgain(c *call) (*handle, error) {
	return c.openSame(w.name.Parent().Join(w.temp), w.from, syscall.O_RDWR, w.gone("cephfs.Staged"))
}

// gone returns the error of a temporary that this handle may no longer write.
func (w *staged) gone(op string) error {
	return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q is gone: another handle committed or discarded it, or it expired", w.id)
}

func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// usable returns Closed if the handle has ended. The caller holds w.mu.
func (w *staged) usable(op string) error {
	if w.state != writing {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	return nil
}

// live returns Conflict if the temporary no longer has its name. The caller holds the lock, so it
// keeps its name.
func (w *staged) live(c *call, op string) error {
	d, _, err := c.parent(w.name)
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := d.stat(w.temp)
	if err == nil && st.same(w.from) {
		return nil
	}
	if err != nil && !missing(err) {
		return err
	}
	return w.gone(op)
}

// change calls do with the open temporary, if this handle has not ended and no other handle has
// committed or removed the temporary.
func (w *staged) change(ctx context.Context, op string, do func(c *call, h *handle) (int, error)) (int, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	n, err := w.tracked(ctx, func(c *call) (int, error) {
		h, err := w.file.use(c)
		if err != nil {
			return 0, err
		}
		defer h.drop()
		n, err := w.locked(c, op, h, do)
		return n, w.broken(h, err)
	})
	return n, w.fs.failIn(ctx, op, w.name, err)
}

// locked calls do with the shared lock held.
func (w *staged) locked(c *call, op string, h *handle, do func(c *call, h *handle) (int, error)) (int, error) {
	if err := w.lock.acquire(c, h, func() error { return w.live(c, op) }); err != nil {
		return 0, err
	}
	defer w.lock.release(c, h)
	return do(c, h)
}

// broken gives h up if err says that its lock, or bytes written through it, were lost with a
// session. libcephfs returns EIO for every call on such a file until all its locks have ended.
func (w *staged) broken(h *handle, err error) error {
	if !errors.Is(err, syscall.EIO) && !errors.Is(err, errForgotten) {
		return err
	}
	w.lock.forget()
	w.file.lose(h)
	return errForgotten
}

// tracked is run for calls that change the temporary. An abandoned call may still write its bytes,
// so until it has ended nothing else is written and the file is not published.
func (w *staged) tracked(ctx context.Context, do func(c *call) (int, error)) (int, error) {
	if err := w.abandoned.wait(ctx, w.fs.store.opts.Timeout); err != nil {
		return 0, err
	}
	const on, left, over = 0, 1, 2
	var how atomic.Int32
	how.Store(over)
	n, err := run(ctx, w.fs, func(c *call) (int, error) {
		how.Store(on)
		defer func() {
			if how.Swap(over) == left {
				w.abandoned.add(-1)
			}
		}()
		return do(c)
	}, nil)
	if how.CompareAndSwap(on, left) {
		w.abandoned.add(1)
	}
	return n, err
}

// WriteAt writes p at offset off. It may return before the cluster has the bytes. If they cannot be
// written, a later call returns the error, at the latest Sync or Commit.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "cephfs.Staged.WriteAt"
	if err := pfs.CheckRange(op, w.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		at := off + int64(n)
		k, err := w.writeBlock(ctx, op, p[n:min(len(p), n+int(blockSize-at%blockSize))], at)
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// writeBlock writes part of one block, now or later.
func (w *staged) writeBlock(ctx context.Context, op string, p []byte, off int64) (int, error) {
	w.mu.RLock()
	err := w.usable(op)
	w.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	return w.behind.write(ctx, op, p, off)
}

// writeNow writes part of one block and waits for the cluster.
func (w *staged) writeNow(ctx context.Context, op string, p []byte, off int64) (int, error) {
	b, err := w.fs.store.movingBuffer(ctx, len(p))
	if err != nil {
		return 0, fail(op, w.name, err)
	}
	copy(b.p, p)
	n, err := w.change(ctx, op, func(c *call, h *handle) (int, error) { return h.write(c, b.p, off) })
	b.free(err)
	return n, err
}

// ReadAt reads staged bytes.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "cephfs.Staged.ReadAt"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return 0, err
	}
	if err := w.behind.flush(ctx, op); err != nil {
		return 0, err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	return reads{fs: w.fs, op: op, name: w.name, of: &w.file}.at(ctx, p, off)
}

// Sync makes the written bytes durable.
func (w *staged) Sync(ctx context.Context) error {
	const op = "cephfs.Staged.Sync"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return err
	}
	if err := w.behind.flush(ctx, op); err != nil {
		return err
	}
	_, err := w.change(ctx, op, func(c *call, h *handle) (int, error) { return 0, h.sync(c) })
	return err
}

// Suspend ends this handle and keeps the staged bytes.
func (w *staged) Suspend(ctx context.Context) error {
	return w.end(ctx, "cephfs.Staged.Suspend", false)
}

// Close discards the upload, unless Commit or Suspend came first.
func (w *staged) Close(ctx context.Context) error { return w.end(ctx, "cephfs.Staged.Close", true) }

// end ends the handle, even if ctx is done. Calls of the store have a deadline of their own.
func (w *staged) end(ctx context.Context, op string, discard bool) (err error) {
	ctx = context.WithoutCancel(ctx)
	if !discard {
		err = w.behind.flush(ctx, op)
	}
	w.behind.drop()
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	w.state = ended
	if before == ended {
		return nil
	}
	if before == writing && discard {
		_, err = runChange(ctx, w.fs, []pfs.Path{w.name}, func(c *call) (struct{}, error) {
			return struct{}{}, w.discard(c, op)
		}, nil)
	}
	w.closeTemp()
	return fail(op, w.name, err)
}

// closeTemp closes the temporary, unless Commit has. A call that is just setting or releasing the lock
// must end first. If the cluster does not answer it, the caller gives up after the timeout, and the
// temporary is closed when the call has ended.
func (w *staged) closeTemp() {
	h := w.file.close()
	if h == nil {
		return // by Commit, or its mount was given up
	}
	_, _ = run(context.Background(), w.fs, func(*call) (struct{}, error) {
		w.lock.forget()
		return struct{}{}, h.close() // Commit and Sync have checked for errors themselves
	}, nil)
}

// discard removes the temporary if it is still that of this handle.
func (w *staged) discard(c *call, op string) error {
	h, err := w.file.use(c)
	if errors.Is(err, pfs.Conflict) {
		return nil // another handle committed or discarded it, or it expired
	}
	if err != nil {
		return err
	}
	defer h.drop()
	if err := w.lock.exclude(c, h); err != nil {
		return err
	}
	d, _, err := c.parent(w.name)
	if err != nil {
		return posix.UnlessMissing(err)
	}
	defer d.Close()
	st, err := d.stat(w.temp)
	if err != nil || !st.same(w.from) {
		return posix.UnlessMissing(err)
	}
	return posix.UnlessMissing(d.unlink(w.temp))
}

// identity is the inode of a temporary: the same for all handles and mounts that write the file.
type identity struct {
	store *store
	ino   uint64
}

// Identity returns the identity of the temporary.
func (w *staged) Identity() any { return identity{w.fs.store, w.from.ino} }
