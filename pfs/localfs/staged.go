package localfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// staged is a Staged write: an open temporary in the directory of its target.
type staged struct {
	fs      *FS
	name    pfs.Path
	id      string
	resumed bool

	dir  dir    // of the target
	base string // the target
	temp string // the temporary
	file *os.File
	from stat // identity of file

	room  *claim
	spare int64 // bytes of the file that will be replaced, which need no room
	extra int64 // 1 if no file will be replaced

	lock  shared
	dirty atomic.Int64 // bytes written since write-back was last begun

	mu    sync.RWMutex // held for reading by what uses file, for writing by what ends it
	state state
	done  pfs.Info // what Commit published
	lost  error    // why the staged bytes are gone
}

var (
	_ pfs.Staged       = (*staged)(nil)
	_ pfs.LeafDigester = (*staged)(nil)
)

// state is how far a staged write has come.
type state uint8

const (
	writing state = iota
	committed
	ended
)

// Create begins a staged write of name, or goes on with one.
func (f *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.create(ctx, "localfs.Create", name, opts)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f *FS) create(ctx context.Context, op string, name pfs.Path, opts pfs.CreateOptions) (*staged, error) {
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	if opts.ID == "" {
		opts.ID = pfs.NewID()
	}
	if !pfs.ValidID(opts.ID) {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "ID %q: 8 to 64 characters of 0-9 and a-z are one", opts.ID)
	}
	if opts.Size < 0 {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "negative size %d", opts.Size)
	}
	d, base, err := f.parent(name)
	if err != nil {
		return nil, fail(op, name, err)
	}
	w := &staged{fs: f, name: name, id: opts.ID, dir: d, base: base, temp: stagedName(base, opts.ID)}
	if err := w.begin(ctx, op, opts); err != nil {
		d.Close()
		return nil, fail(op, name, err)
	}
	return w, nil
}

// begin looks at the target, takes room and opens the temporary.
func (w *staged) begin(ctx context.Context, op string, opts pfs.CreateOptions) error {
	switch st, err := w.dir.stat(w.base, false); {
	case err == nil && st.mode.IsDir():
		return pfs.E(op, w.name, pfs.IsDir, nil)
	case err == nil:
		w.spare = st.size
	case missing(err):
		w.extra = 1
	default:
		return err
	}
	room, err := w.fs.claim(ctx, w.name.Parent(), max(0, opts.Size-w.spare), w.extra)
	if err != nil {
		return err
	}
	w.room = room
	if err := w.open(op, opts); err != nil {
		room.release()
		return err
	}
	return nil
}

// open opens the temporary that is there, or makes it.
func (w *staged) open(op string, opts pfs.CreateOptions) (err error) {
	w.file, err = w.dir.openFile(w.temp, os.O_RDWR, 0)
	if missing(err) && opts.Reopen {
		return pfs.Errorf(op, w.name, pfs.Conflict, "nothing is staged as %q: it was committed, discarded or swept", w.id)
	}
	made := missing(err)
	if made {
		w.file, err = w.dir.openFile(w.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) { // another handle made it at this moment
		made = false
		w.file, err = w.dir.openFile(w.temp, os.O_RDWR, 0)
	}
	if err != nil {
		return err
	}
	if err := w.opened(op, opts, made); err != nil {
		w.file.Close()
		if made {
			w.dir.unlink(w.temp)
		}
		return err
	}
	return nil
}

// opened checks what was opened and prepares it.
func (w *staged) opened(op string, opts pfs.CreateOptions, made bool) (err error) {
	if w.from, err = statFile(w.file); err != nil {
		return err
	}
	if !w.from.mode.IsRegular() || w.from.links > 1 {
		return pfs.Errorf(op, w.name, pfs.Conflict, "what is staged as %q was tampered with: use another ID", w.id)
	}
	w.resumed = w.from.size > 0
	if opts.Size > w.from.size {
		if err := allocate(w.file, opts.Size); err != nil {
			return err
		}
	}
	w.lock.file = w.file
	first := w.fs.quotas.enter(w.temp)
	if made {
		return nil
	}
	if err := w.adopt(first); err != nil {
		w.fs.quotas.leave(w.temp)
		return err
	}
	return nil
}

// adopt lets the claim count what was staged before. Until now, if this is the
// first handle here, the sums did.
func (w *staged) adopt(first bool) error {
	kept := pfs.Usage{Bytes: w.from.held()}
	if first {
		w.book(sum(pfs.Usage{}, kept, -1))
	}
	err := w.room.reach(max(0, w.from.size-w.spare), w.extra)
	if err != nil && first {
		w.book(kept)
	}
	return err
}

// book notes a change in the trees of the claim.
func (w *staged) book(change pfs.Usage) {
	for _, t := range w.room.trees {
		t.book(change)
	}
}

func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// use calls do while the temporary is this handle's to write: not ended here, nor
// committed or removed by another handle.
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

// usable reports what ended the use of the handle; w.mu is held.
func (w *staged) usable(op string) error {
	if w.state != writing {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	return w.lost
}

// live reports whether the temporary still has its name; the lock is held, so that
// it keeps it.
func (w *staged) live(op string) error {
	st, err := w.dir.stat(w.temp, false)
	if err == nil && st.same(w.from) {
		return nil
	}
	if err != nil && !missing(err) {
		return fail(op, w.name, err)
	}
	return pfs.Errorf(op, w.name, pfs.Conflict, "what was staged as %q is gone: another handle committed or discarded it, or it was swept", w.id)
}

// WriteAt writes p at offset off.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.Staged.WriteAt"
	if off < 0 {
		return 0, pfs.Errorf(op, w.name, pfs.Invalid, "negative offset %d", off)
	}
	for {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		var k int
		chunk := p[n:min(len(p), n+pfs.ChunkSize)]
		err := w.use(op, func() (err error) {
			k, err = w.write(chunk, off+int64(n))
			return err
		})
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// write writes one chunk and sends it to the disk, so that the sync of Commit finds
// little to do. Small pieces are sent together.
func (w *staged) write(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if err := w.room.reach(max(0, end-w.spare), w.extra); err != nil {
		return 0, err
	}
	n, err := w.file.WriteAt(p, off)
	w.wrote(off, int64(n))
	return n, err
}

// wrote begins write-back of n new bytes at off.
func (w *staged) wrote(off, n int64) {
	const much = 1 << 20
	switch {
	case n >= much:
		startWriteback(w.file, off, n)
	case w.dirty.Add(n) >= pfs.ChunkSize:
		w.dirty.Store(0)
		startWriteback(w.file, 0, 0) // all there is
	}
}

// ReadAt reads back what was staged.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.Staged.ReadAt"
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	return readAt(ctx, op, w.name, w.file, p, off)
}

// Sync returns when all that was written survives a crash of the machine.
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
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		w.lose(err)
	}
	return err
}

// lostError says that staged bytes did not reach the disk.
type lostError struct{ err error }

func (e *lostError) Error() string {
	return "the disk did not take the bytes, which must be sent again: " + e.err.Error()
}

func (e *lostError) Unwrap() error { return e.err }

// syncFile syncs the temporary. After a failure the next sync would succeed
// without the bytes, so there must be none.
func (w *staged) syncFile(op string) error {
	if w.fs.opts.NoSync {
		return nil
	}
	err := w.file.Sync()
	if err == nil {
		return nil
	}
	return pfs.E(op, w.name, kindOf(err), &lostError{err: cause(err)})
}

// lose discards what was staged because of err.
func (w *staged) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseLocked(err)
}

func (w *staged) loseLocked(err error) {
	if w.lost == nil && w.state == writing {
		w.lost = err
		w.dir.unlink(w.temp)
	}
}

// Suspend ends the use of this handle and keeps what was staged.
func (w *staged) Suspend() error { return w.end("localfs.Staged.Suspend", false) }

// Close discards what was staged, unless Commit or Suspend came first.
func (w *staged) Close() error { return w.end("localfs.Staged.Close", true) }

// end ends the handle.
func (w *staged) end(op string, discard bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	w.state = ended
	if before == ended {
		return nil
	}
	var err error
	if before == writing && discard && w.lost == nil {
		err = w.discard(op)
	}
	w.leave(before == writing && !discard)
	return fail(op, w.name, errors.Join(err, w.file.Close(), w.dir.Close()))
}

// discard removes the temporary if it is still this one's.
func (w *staged) discard(op string) error {
	if err := lockFile(w.file, true); err != nil {
		return err
	}
	if w.live(op) != nil {
		return nil
	}
	return unlessMissing(w.dir.unlink(w.temp))
}

// leave gives the room back. What is kept goes from the claim to the sums.
func (w *staged) leave(keep bool) {
	var kept pfs.Usage
	if w.fs.quotas.leave(w.temp) && keep && w.live("") == nil {
		if st, err := statFile(w.file); err == nil {
			kept.Bytes = st.held()
		}
	}
	w.room.settle(kept)
}
