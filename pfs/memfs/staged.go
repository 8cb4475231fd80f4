package memfs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// stageKey names a staged write in its directory.
type stageKey struct{ name, id string }

// stage is the bytes of a staged write. It belongs to a directory, goes with it
// when that is renamed, and is lost with it. Handles come and go.
type stage struct {
	key stageKey
	dir *node

	mu   sync.Mutex // guards data; taken before FS.mu
	data content

	// Guarded by FS.mu.
	size    int64     // bytes accounted for, those of data
	touched time.Time // when it was last written or opened
	gone    bool      // discarded, swept, or lost with its directory
	done    *pfs.Info // what Commit published; then gone too
}

// keep adds st to its directory.
func (s *FS) keep(st *stage) { st.dir.dir.staged[st.key] = st }

// discard removes st from its directory.
func (s *FS) discard(st *stage) {
	if st.gone {
		return
	}
	st.gone = true
	s.staged -= st.size
	delete(st.dir.dir.staged, st.key)
}

// discardAll removes the staged writes in the tree below n, a directory.
func (s *FS) discardAll(n *node) {
	for _, st := range n.dir.staged {
		s.discard(st)
	}
	for _, e := range n.dir.entries {
		if e.node.mode.IsDir() {
			s.discardAll(e.node)
		}
	}
}

// Create begins a staged write of name, or goes on with one.
func (s *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "memfs.Create"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := checkCreate(op, name, opts); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, old, err := s.place(op, name)
	if err != nil {
		return nil, err
	}
	key := stageKey{name.Base(), opts.ID}
	st := dir.dir.staged[key]
	if st == nil {
		if opts.Reopen && !old.wasMadeBy(opts.ID) {
			return nil, pfs.Errorf(op, name, pfs.Conflict, "there is no staged write %s: begin a new one", opts.ID)
		}
		if key.id == "" {
			key.id = pfs.NewID()
		}
		st = &stage{key: key, dir: dir}
	}
	if err := s.checkGrowth(op, name, st, opts.Size); err != nil {
		return nil, err
	}
	st.touched = now()
	s.keep(st)
	return &staged{fs: s, st: st, name: name, resumed: st.size > 0}, nil
}

func checkCreate(op string, name pfs.Path, opts pfs.CreateOptions) error {
	switch {
	case opts.ID != "" && !pfs.ValidID(opts.ID):
		return pfs.Errorf(op, name, pfs.Invalid, "staged write ID %q: it must be 8 to 64 characters of 0-9 and a-z", opts.ID)
	case opts.ID == "" && opts.Reopen:
		return pfs.Errorf(op, name, pfs.Invalid, "no ID of the staged write to go on with")
	case opts.Size < 0:
		return pfs.Errorf(op, name, pfs.Invalid, "negative size %d", opts.Size)
	}
	return nil
}

// place returns the directory in which a file name may be published, and what is
// there now, if anything.
func (s *FS) place(op string, name pfs.Path) (dir, old *node, err error) {
	if name == pfs.Root {
		return nil, nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	if dir, err = s.parent(op, name); err != nil {
		return nil, nil, err
	}
	old = dir.child(name.Base())
	if old != nil && old.mode.IsDir() {
		return nil, nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	return dir, old, nil
}

// wasMadeBy reports whether n, which may be nil, is what Commit of id made.
func (n *node) wasMadeBy(id string) bool { return n != nil && id != "" && n.madeBy == id }

// checkGrowth answers NoSpace or Quota if st cannot have size bytes. Each staged
// write is held against the quota alone, here; Commit counts them all.
func (s *FS) checkGrowth(op string, name pfs.Path, st *stage, size int64) error {
	if size <= st.size {
		return nil
	}
	if err := s.checkSpace(op, name, size-st.size); err != nil {
		return err
	}
	delta := tally{bytes: size}
	if old := st.dir.child(st.key.name); old != nil {
		delta.bytes -= old.size()
	}
	return st.dir.checkQuota(op, name, delta)
}

// staged is a handle of a stage.
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
)

func (w *staged) ID() string    { return w.st.key.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// check answers for calls that come too late: on an ended handle, or for a stage
// that another handle has ended or that was swept.
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
		return pfs.Errorf(op, w.name, pfs.Conflict, "the staged write %s is gone: begin a new one", w.ID())
	}
	return nil
}

func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "memfs.Staged.WriteAt"
	if err := w.check(op); err != nil {
		return 0, err
	}
	if err := checkRange(op, w.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		part := p[n:min(len(p), n+pfs.ChunkSize)]
		if err := w.write(op, part, off+int64(n)); err != nil {
			return n, err
		}
		n += len(part)
	}
}

// write stages one chunk.
func (w *staged) write(op string, p []byte, off int64) error {
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	if err := w.reserve(op, off+int64(len(p))); err != nil {
		return err
	}
	w.st.data.writeAt(p, off)
	return nil
}

// reserve accounts for the stage being size bytes long, if it is not already.
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
	return readChunks(ctx, op, w.name, w.read, p, off)
}

func (w *staged) read(p []byte, off int64) (int, error) {
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	return w.st.data.readAt(p, off)
}

// Sync has nothing to do: what survives here survives from the start.
func (w *staged) Sync(ctx context.Context) error {
	const op = "memfs.Staged.Sync"
	if err := w.check(op); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, w.name)
}

// LeafDigests returns the digests of the leaves that were staged in full.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	const op = "memfs.Staged.LeafDigests"
	if err := w.check(op); err != nil {
		return nil, err
	}
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, w.name, pfs.Invalid, "%d leaves from %d on of %d bytes", n, first, size)
	}
	leaves := (size + pfs.ChunkSize - 1) / pfs.ChunkSize
	buf := make([]byte, min(size, pfs.ChunkSize))
	var ds []pfs.LeafDigest
	for i := first; len(ds) < n && i < leaves; i++ {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return nil, err
		}
		leaf := buf[:min(pfs.ChunkSize, size-i*pfs.ChunkSize)]
		if k, _ := w.read(leaf, i*pfs.ChunkSize); k < len(leaf) {
			break
		}
		ds = append(ds, digest.Leaf(leaf))
	}
	return ds, nil
}

func (w *staged) Suspend() error {
	w.ended.Store(true)
	return nil
}

func (w *staged) Close() error {
	if w.ended.Swap(true) {
		return nil
	}
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	w.fs.discard(w.st)
	return nil
}
