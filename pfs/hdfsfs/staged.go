package hdfsfs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// staged is an open upload: a directory with a file for each part.
type staged struct {
	fs      *FS
	name    pfs.Path
	id      string
	resumed bool
	dir     string // in HDFS
	stage   *stageRoot
	parent  uint64 // inode of the target's directory
	zoned   bool   // it is in an encryption zone
	lay     layout

	mu    sync.RWMutex // write-locked by Commit, Suspend and Close
	state state
	done  pfs.Info // what Commit published

	storingParts atomic.Int32 // parts that are stored while others are written
	partsMu      sync.Mutex
	parts        map[int64]*part // the parts used through this staged
}

// state is the state of a staged.
type state uint8

const (
	writing state = iota
	committed
	ended
)

var (
	_ pfs.Staged       = (*staged)(nil)
	_ pfs.LeafDigester = (*staged)(nil)
	_ pfs.Identifier   = (*staged)(nil)
)

// Create begins or resumes an upload of name.
func (f *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.create(ctx, "hdfsfs.Create", name, opts)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f *FS) create(ctx context.Context, op string, name pfs.Path, opts pfs.CreateOptions) (*staged, error) {
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	opts.ID = cmp.Or(opts.ID, pfs.NewID())
	parent, err := f.target(ctx, op, name)
	if err != nil {
		return nil, err
	}
	w := &staged{fs: f, name: name, id: opts.ID, parent: parent.id, zoned: parent.zoned, parts: map[int64]*part{}}
	if w.stage, err = f.stageFor(ctx, name.Parent(), parent); err != nil {
		return nil, fail(op, name, err)
	}
	w.dir = w.stage.dir(parent.id, name.Base(), opts.ID)
	if w.lay, err = f.layout(ctx); err != nil {
		return nil, fail(op, name, err)
	}
	w.lay.code(newCoding(parent.policy))
	if !opts.Reopen && opts.Size > w.lay.unit { // a smaller file is cheap to send in vain
		if err := f.checkAccess(ctx, op, name); err != nil {
			return nil, err
		}
		if err := f.checkQuota(ctx, op, name, opts.Size, w.lay); err != nil {
			return nil, err
		}
	}
	if err := w.open(ctx, op, opts.Reopen); err != nil {
		return nil, fail(op, name, err)
	}
	return w, nil
}

// checkAccess returns Permission if f's user may not write in the directory of name, so that
// no long file is sent in vain. If HDFS gives no answer, Commit finds out. The service's own
// user is not checked: it is usually a superuser.
func (f *FS) checkAccess(ctx context.Context, op string, name pfs.Path) error {
	if f.user == f.service.user {
		return nil
	}
	at := f.at(name.Parent())
	err := f.tell(ctx, "checkAccess", &hdfsproto.CheckAccessRequest{Path: &at, Access: proto.Uint32(0o2)}, rpc.Idempotent)
	if is(err, pfs.Permission) {
		return fail(op, name.Parent(), err)
	}
	return nil
}

// target checks that a file may be created at name and returns the status of its parent.
func (f *FS) target(ctx context.Context, op string, name pfs.Path) (parent status, err error) {
	if name == pfs.Root {
		return status{}, pfs.E(op, name, pfs.IsDir, nil)
	}
	st, err := f.status(ctx, name)
	if err == nil && st.IsDir() {
		return status{}, pfs.E(op, name, pfs.IsDir, nil)
	}
	if err != nil && !is(err, pfs.NotExist) {
		return status{}, f.placeError(ctx, op, name, err)
	}
	parent, err = f.parentOf(ctx, op, name)
	switch {
	case err != nil:
		return status{}, err
	case parent.IsLink():
		return status{}, pfs.E(op, name.Parent(), pfs.Symlink, nil)
	case !parent.IsDir():
		return status{}, pfs.E(op, name.Parent(), pfs.NotDir, nil)
	}
	return parent, nil
}

// open creates the directory of the upload, or reads the existing one.
func (w *staged) open(ctx context.Context, op string, reopen bool) error {
	err := error(pfs.Exist)
	if !reopen {
		err = w.stage.within(ctx, func() error {
			return w.fs.makeDir(ctx, w.dir, 0o700)
		})
	}
	if err == nil {
		m := stageMark{unit: w.lay.unit, block: w.lay.block, name: w.name}
		return w.fs.setXattr(ctx, w.dir, stageAttribute, m.encode())
	}
	if !is(err, pfs.Exist) {
		return err
	}
	c, err := w.fs.contentOf(ctx, w.dir)
	if is(err, pfs.NotExist) && reopen {
		return pfs.Errorf(op, w.name, pfs.Conflict, "there is no upload %q: it was committed or discarded, or it expired", w.id)
	}
	if err != nil {
		return err
	}
	if w.resumed = c.joined > 0 || len(c.parts) > 0; w.resumed {
		w.lay.coding = newCoding(c.policy) // HDFS joins only files of one policy
	}
	m, ok, err := w.fs.stageMarkOf(ctx, w.dir)
	if ok {
		w.lay.unit, w.lay.block = m.unit, m.block
	}
	return err
}

func (w *staged) ID() string    { return w.id }
func (w *staged) Resumed() bool { return w.resumed }

// Unit is the length of a part.
func (w *staged) Unit() int64 { return w.lay.unit }

// part returns the part with the given number.
func (w *staged) part(number int64) *part {
	w.partsMu.Lock()
	defer w.partsMu.Unlock()
	pt := w.parts[number]
	if pt == nil {
		pt = &part{w: w, number: number}
		w.parts[number] = pt
	}
	return pt
}

// touched returns the parts used through w.
func (w *staged) touched() []*part {
	w.partsMu.Lock()
	defer w.partsMu.Unlock()
	all := make([]*part, 0, len(w.parts))
	for _, pt := range w.parts {
		all = append(all, pt)
	}
	return all
}

// usable returns Closed if w was committed, suspended or closed.
func (w *staged) usable(op string) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state != writing {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	return nil
}

// use calls do with exclusive access to a part, unless w has ended.
func (w *staged) use(op string, number int64, do func(pt *part) error) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state != writing {
		return pfs.E(op, w.name, pfs.Closed, nil)
	}
	pt := w.part(number)
	pt.mu.Lock()
	defer pt.mu.Unlock()
	return w.fail(op, do(pt))
}

// fail wraps an error from the directory of the upload. A missing entry means that another
// handle has ended the upload.
func (w *staged) fail(op string, err error) error {
	var known *pfs.Error
	if is(err, pfs.NotExist) && !errors.As(err, &known) {
		return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q is gone: another handle committed or discarded it, or it expired", w.id)
	}
	return fail(op, w.name, err)
}

// WriteAt writes p at offset off.
func (w *staged) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "hdfsfs.Staged.WriteAt"
	if err := pfs.CheckRange(op, w.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, w.usable(op)
		}
		at := off + int64(n)
		within := at % w.lay.unit
		chunk := p[n:min(int64(len(p)), int64(n)+pfs.ChunkSize, int64(n)+w.lay.unit-within)]
		err := w.use(op, at/w.lay.unit, func(pt *part) error { return pt.write(ctx, chunk, within) })
		if err != nil {
			return n, err
		}
		n += len(chunk)
		if n == len(p) {
			return n, nil
		}
	}
}

// ReadAt reads staged bytes. It first stores those that are in transit.
func (w *staged) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "hdfsfs.Staged.ReadAt"
	if err := pfs.CheckRange(op, w.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return n, err
		}
		var k int
		at := off + int64(n)
		within := at % w.lay.unit
		chunk := p[n:min(int64(len(p)), int64(n)+pfs.ChunkSize, int64(n)+w.lay.unit-within)]
		err := w.use(op, at/w.lay.unit, func(pt *part) (err error) {
			k, err = pt.read(ctx, chunk, within)
			return err
		})
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// nothing returns io.EOF if the upload still exists.
func (w *staged) nothing(ctx context.Context) error {
	if _, err := w.fs.statusAt(ctx, w.dir); err != nil {
		return err
	}
	return io.EOF
}

// gone reports whether the upload no longer exists.
func (w *staged) gone(ctx context.Context) bool { return is(w.nothing(ctx), pfs.NotExist) }

// openAt opens a file of the upload for reading.
func (w *staged) openAt(ctx context.Context, at string) (*file, error) {
	st, err := w.fs.statusAt(ctx, at)
	if err != nil {
		return nil, err
	}
	h, err := w.fs.newFile(ctx, w.name, st)
	if err != nil {
		return nil, err
	}
	h.staged = true
	return h, nil
}

// Sync stores the bytes that are in transit. An incomplete part is rewritten when its next
// bytes arrive.
func (w *staged) Sync(ctx context.Context) error {
	const op = "hdfsfs.Staged.Sync"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return err
	}
	if err := w.usable(op); err != nil {
		return err
	}
	for _, pt := range w.touched() {
		if err := w.use(op, pt.number, func(pt *part) error { return pt.settle(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// LeafDigests reads the staged bytes, one leaf after the other.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "hdfsfs.Staged.LeafDigests", w.name, w.ReadAt, size, first, n)
}

// Suspend closes w and keeps the staged bytes.
func (w *staged) Suspend(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	w.state = ended
	if before != writing {
		return nil
	}
	var failed error
	for _, pt := range w.touched() {
		if err := pt.settle(context.WithoutCancel(ctx)); err != nil {
			failed = err
		}
	}
	return w.fail("hdfsfs.Staged.Suspend", failed)
}

// Close discards the upload, unless Commit or Suspend came first.
func (w *staged) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state
	w.state = ended
	if before != writing {
		return nil
	}
	for _, pt := range w.touched() {
		pt.drop()
	}
	return fail("hdfsfs.Staged.Close", w.name, w.remove(context.WithoutCancel(ctx)))
}

// remove removes the directory of the upload.
func (w *staged) remove(ctx context.Context) error {
	return w.fs.removeAll(ctx, w.dir)
}

// identity identifies an upload in a cluster by its directory.
type identity struct {
	cluster *cluster
	dir     string
}

// Identity is the directory's.
func (w *staged) Identity() any { return identity{w.fs.cluster, w.dir} }
