package localfs

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// stagePrefix begins the name of a staged write's temporary.
const stagePrefix = pfs.TempPrefix + "up-"

// tempName returns the name of the temporary of a staged write. It has a hash of the
// target's name, which may itself be as long as a name can be, so that an ID belongs to
// one path.
func tempName(id, target string) string {
	sum := digest.Leaf([]byte(target))
	return stagePrefix + id + "-" + hex.EncodeToString(sum[:8])
}

// stageKey names a staged write: by its directory itself, which may be renamed.
type stageKey struct {
	dev, inode uint64
	temp       string
}

// stage is a staged write that is open. All handles of one ID in this process share
// it, so that none of them can write to a file that another has published.
type stage struct {
	key  stageKey
	id   string
	base string
	dir  *dir
	f    *os.File

	handles int // guarded by FS.mu

	mu      sync.RWMutex // held by writes; exclusively by what ends the stage
	done    *pfs.Info    // what Commit published
	gone    bool         // discarded
	lengths sync.Mutex
	size    int64 // the length so far
	credit  int64 // bytes of the file that will be replaced: they are not asked for twice
}

// charged is what a staged write of size bytes counts under a quota.
func (st *stage) charged(size int64) int64 { return max(0, size-st.credit) }

// staged is a handle of a stage.
type staged struct {
	fs      *FS
	st      *stage
	name    pfs.Path
	resumed bool

	mu    sync.Mutex
	ended bool // by Commit, Suspend or Close
	freed bool
}

var _ pfs.LeafDigester = (*staged)(nil)

// Create begins a staged write of name, or goes on with one.
func (s *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	const op = "localfs.Create"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := checkCreate(op, name, opts); err != nil {
		return nil, err
	}
	d, err := s.openDir(op, name.Parent())
	if err != nil {
		return nil, err
	}
	st, resumed, err := s.openStage(ctx, op, d, name, opts)
	if err != nil {
		d.Close()
		return nil, fail(op, name, err)
	}
	return &staged{fs: s, st: st, name: name, resumed: resumed}, nil
}

func checkCreate(op string, name pfs.Path, opts pfs.CreateOptions) error {
	switch {
	case name == pfs.Root:
		return pfs.E(op, name, pfs.IsDir, nil)
	case opts.ID != "" && !pfs.ValidID(opts.ID):
		return pfs.Errorf(op, name, pfs.Invalid, "staged write ID %.80q: it is 8 to 64 characters of 0-9 and a-z", opts.ID)
	case opts.ID == "" && opts.Reopen:
		return pfs.Errorf(op, name, pfs.Invalid, "no ID of the staged write to go on with")
	case opts.Size < 0:
		return pfs.Errorf(op, name, pfs.Invalid, "negative size %d", opts.Size)
	}
	return nil
}

// openStage finds or makes the stage; on success d belongs to it or is closed.
func (s *FS) openStage(ctx context.Context, op string, d *dir, name pfs.Path, opts pfs.CreateOptions) (*stage, bool, error) {
	base := name.Base()
	if st, err := d.stat(base); err == nil && st.info.IsDir() {
		return nil, false, pfs.E(op, name, pfs.IsDir, nil)
	}
	self, err := d.statSelf()
	if err != nil {
		return nil, false, err
	}
	id := opts.ID
	if id == "" {
		id = pfs.NewID()
	}
	key := stageKey{self.dev, self.inode, tempName(id, base)}
	for {
		if st := s.sharedStage(key); st != nil {
			d.Close()
			return st, st.length() > 0, nil
		}
		st, err := s.newStage(ctx, op, d, name, key, id, opts)
		if err != nil || st != nil {
			return st, err == nil && st.length() > 0, err
		}
	}
}

// sharedStage returns the open stage of key with one more handle, or nil.
func (s *FS) sharedStage(key stageKey) *stage {
	s.mu.Lock()
	st := s.stages[key]
	if st != nil {
		st.handles++
	}
	s.mu.Unlock()
	if st == nil {
		return nil
	}
	st.mu.RLock()
	over := st.done != nil || st.gone
	st.mu.RUnlock()
	if over { // it ended while we looked: it is not in the table any more
		s.free(st)
		return nil
	}
	return st
}

// newStage opens or makes the temporary. It returns nil if another goroutine was
// faster.
func (s *FS) newStage(ctx context.Context, op string, d *dir, name pfs.Path, key stageKey, id string, opts pfs.CreateOptions) (*stage, error) {
	flags := os.O_RDWR | os.O_CREATE
	if opts.Reopen && d.mark(name.Base()).id != id {
		flags = os.O_RDWR
	}
	f, err := d.open(key.temp, flags, 0o600)
	if opts.Reopen && errors.Is(err, os.ErrNotExist) {
		return nil, pfs.Errorf(op, name, pfs.Conflict, "there is no staged write %s: begin a new one", id)
	}
	if err != nil {
		return nil, err
	}
	info, err := statFile(f, key.temp)
	if err == nil && !info.info.IsRegular() {
		err = pfs.Errorf(op, name, pfs.Conflict, "something else is in the place of the staged write %s", id)
	}
	var credit int64
	if old, oerr := d.stat(name.Base()); oerr == nil && info.info.Size == 0 {
		credit = old.info.Size
	}
	if err == nil {
		err = s.reserve(ctx, op, f, name, info.info.Size+credit, opts.Size)
	}
	if err != nil {
		f.Close()
		if info.info.Size == 0 {
			_ = d.unlink(key.temp)
		}
		return nil, err
	}
	st := &stage{key: key, id: id, base: name.Base(), dir: d, f: f, handles: 1, size: info.info.Size, credit: credit}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The name may have been published, or another goroutine may have opened it,
	// between then and now.
	if now, err := d.stat(key.temp); s.stages[key] != nil || err != nil || now.inode != info.inode {
		f.Close()
		return nil, nil
	}
	s.stages[key] = st
	return st, nil
}

// reserve refuses what cannot fit beside what the name has already, and takes the room
// for what will come.
func (s *FS) reserve(ctx context.Context, op string, f *os.File, name pfs.Path, have, size int64) error {
	if size == 0 {
		return nil
	}
	if err := s.quotas.check(ctx, op, name, size-have); err != nil {
		return err
	}
	return preallocate(f, size)
}

// free ends one handle of st.
func (s *FS) free(st *stage) {
	s.mu.Lock()
	st.handles--
	last := st.handles == 0
	if last && s.stages[st.key] == st {
		delete(s.stages, st.key)
	}
	s.mu.Unlock()
	if last {
		st.f.Close()
		st.dir.Close()
	}
}

// retire takes st out of the table: the next Create of its ID begins anew. st.mu is
// held.
func (s *FS) retire(st *stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stages[st.key] == st {
		delete(s.stages, st.key)
	}
}

func (st *stage) length() int64 {
	st.lengths.Lock()
	defer st.lengths.Unlock()
	return st.size
}

func (w *staged) ID() string    { return w.st.id }
func (w *staged) Resumed() bool { return w.resumed }
func (w *staged) Unit() int64   { return pfs.ChunkSize }

// use takes the stage for a read or write; release it with w.st.mu.RUnlock.
func (w *staged) use(ctx context.Context, op string) error {
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return err
	}
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	w.st.mu.RLock()
	if w.st.gone || w.st.done != nil {
		w.st.mu.RUnlock()
		return pfs.Errorf(op, w.name, pfs.Conflict, "the staged write %s was ended by another", w.st.id)
	}
	return nil
}

// WriteAt writes in place, in parallel if need be.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.WriteAt"
	if off < 0 {
		return 0, pfs.Errorf(op, w.name, pfs.Invalid, "negative offset %d", off)
	}
	if err := w.use(ctx, op); err != nil {
		return 0, err
	}
	defer w.st.mu.RUnlock()
	if err := w.grow(ctx, op, off+int64(len(p))); err != nil {
		return 0, err
	}
	for n < len(p) {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		k, err := w.st.f.WriteAt(p[n:min(n+pfs.ChunkSize, len(p))], off+int64(n))
		n += k
		if err != nil {
			return n, fail(op, w.name, err)
		}
	}
	// Whole chunks go to the disk at once, pieces of one when it is complete.
	if first, end := off/pfs.ChunkSize, (off+int64(n))/pfs.ChunkSize; end > first {
		startWriting(w.st.f, first*pfs.ChunkSize, (end-first)*pfs.ChunkSize)
	}
	return n, nil
}

// grow accounts for a length of at least end.
func (w *staged) grow(ctx context.Context, op string, end int64) error {
	st := w.st
	st.lengths.Lock()
	defer st.lengths.Unlock()
	if end <= st.size {
		return nil
	}
	if err := w.fs.quotas.charge(ctx, op, w.name, st.charged(end)-st.charged(st.size), 0); err != nil {
		return err
	}
	st.size = end
	return nil
}

// ReadAt reads back what was staged.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.ReadAt"
	if off < 0 {
		return 0, pfs.Errorf(op, w.name, pfs.Invalid, "negative offset %d", off)
	}
	if err := w.use(ctx, op); err != nil {
		return 0, err
	}
	defer w.st.mu.RUnlock()
	return readAt(ctx, op, w.name, w.st.f, p, off)
}

// LeafDigests reads back leaves.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	var out []pfs.LeafDigest
	buf := make([]byte, min(pfs.ChunkSize, max(size, 0)))
	for off := first * pfs.ChunkSize; off < size && len(out) < n; off += pfs.ChunkSize {
		p := buf[:min(pfs.ChunkSize, size-off)]
		k, err := w.ReadAt(ctx, p, off)
		if k < len(p) {
			if err == io.EOF {
				err = nil
			}
			return out, err
		}
		out = append(out, digest.Leaf(p))
	}
	return out, nil
}

// Sync makes what was written durable.
func (w *staged) Sync(ctx context.Context) error {
	const op = "localfs.Sync"
	if err := w.use(ctx, op); err != nil {
		return err
	}
	defer w.st.mu.RUnlock()
	if err := w.st.f.Sync(); err != nil {
		return fail(op, w.name, err)
	}
	return fail(op, w.name, w.st.dir.sync())
}

// end marks the handle as ended and reports whether it was not before.
func (w *staged) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.ended
	w.ended = true
	if !w.freed && !was {
		w.freed = true
		return true
	}
	return false
}

// Suspend keeps what was staged.
func (w *staged) Suspend() error {
	if w.end() {
		w.fs.free(w.st)
	}
	return nil
}

// Close discards what was staged.
func (w *staged) Close() error {
	if !w.end() {
		return nil
	}
	defer w.fs.free(w.st)
	st := w.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.gone || st.done != nil {
		return nil
	}
	return fail("localfs.Close", w.name, w.discard())
}

// discard removes the temporary. st.mu is held.
func (w *staged) discard() error {
	st := w.st
	st.gone = true
	w.fs.retire(st)
	w.fs.quotas.refund(w.name, st.charged(st.length()), 0)
	err := st.dir.unlink(st.key.temp)
	if errors.Is(err, os.ErrNotExist) {
		return nil // with its directory, or swept
	}
	return err
}
