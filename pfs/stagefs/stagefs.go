package stagefs

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Options are the options of New.
type Options struct {
	// Dir is the directory of staged files. It is made if it is missing. Each tree that is
	// mounted by an account needs its own.
	Dir string

	// Others is a pattern (filepath.Match) for the directories of other mounts of the same tree
	// and account. Files in a directory that no process has used for ten minutes are taken over.
	Others string

	// Resume continues the files that were open when an earlier process ended: its handles will
	// be opened again (pfs.HandleID.Continue). New waits until that process has ended.
	Resume bool

	Logger *slog.Logger // default: discard
}

// retryPending is the time between two attempts to upload pending files.
const retryPending = 30 * time.Second

// FS is a file system with random writes. Its other operations are those of the file system below.
type FS struct {
	*pfs.Layer
	below pfs.FileSystem
	opts  Options
	held  *os.File // the lock file

	ctx    context.Context // done after Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu         sync.Mutex
	files      map[pfs.Path]*file // that are in use, or staged
	incomplete []*stage
	nameless   map[uint64]*file   // of a process that has died, by the ID that users know
	can        map[pfs.Path]known // by directory
	ids        ids
	pool       *transfer.Pool
}

// known are the capabilities of a directory.
type known struct {
	can   pfs.Capabilities
	until time.Time
}

// Bounds of the cached capabilities of directories.
const (
	mostDirs = 10_000
	dirAge   = time.Minute
)

// New returns fsys with random writes. It begins to upload the pending files of an earlier process.
func New(fsys pfs.FileSystem, opts Options) (*FS, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	f := &FS{below: fsys, opts: opts, files: map[pfs.Path]*file{}, nameless: map[uint64]*file{}, can: map[pfs.Path]known{}, pool: transfer.NewPool(transfer.DefaultMemory)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.recover(); err != nil {
		f.cancel()
		return nil, err
	}
	f.Layer = pfs.NewLayerWith(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a == pfs.Read {
			if err := f.settle(ctx, name); err != nil {
				return err
			}
		}
		return call(fsys, name)
	}, pfs.Hooks{Open: f.openBelow, Info: f.info})
	f.work.Go(func() {
		for tick := time.NewTicker(retryPending); ; {
			_ = os.Chtimes(f.held.Name(), time.Time{}, time.Now()) // so that no other process takes over
			f.adopt()
			_ = f.uploadAll(f.ctx, func(s *stage) bool { return s.State == pending })
			select {
			case <-f.ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return f, nil
}

// Close ends background work. It uploads nothing (see Flush); staged files stay for the next process.
func (f *FS) Close() error {
	f.cancel()
	f.work.Wait()
	return f.held.Close()
}

// stages reports whether files below the directory dir are staged.
func (f *FS) stages(ctx context.Context, dir pfs.Path) (bool, error) {
	f.mu.Lock()
	k, ok := f.can[dir]
	f.mu.Unlock()
	if !ok || time.Now().After(k.until) {
		can, err := pfs.CapabilitiesOf(ctx, f.below, dir)
		if err != nil {
			return false, err
		}
		k = known{can, time.Now().Add(dirAge)}
		f.mu.Lock()
		if len(f.can) >= mostDirs {
			clear(f.can)
		}
		f.can[dir] = k
		f.mu.Unlock()
	}
	return lacking(k.can), nil
}

// lacking reports whether c are the capabilities of a store that only appends.
func lacking(c pfs.Capabilities) bool {
	return c.Has(pfs.CanOpenHandle|pfs.CanAppend) && !c.Has(pfs.CanWriteRandom)
}

// Capabilities adds random writes. Files with several names are not staged.
func (f *FS) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	c, err := f.Layer.Capabilities(ctx, name)
	if err == nil && lacking(c) {
		c = c&^(pfs.CanHardLink|pfs.CanAllocate) | pfs.CanWriteRandom
	}
	return c, err
}

// HardLink answers Unsupported where files are staged.
func (f *FS) HardLink(ctx context.Context, oldName, newName pfs.Path) error {
	if stages, err := f.stages(ctx, newName.Parent()); err == nil && stages {
		return pfs.E("stagefs.HardLink", newName, pfs.Unsupported, nil)
	}
	return f.Layer.HardLink(ctx, oldName, newName)
}

// OpenHandle opens the file name.
func (f *FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	if stages, err := f.stages(ctx, name.Parent()); err != nil || !stages || name == pfs.Root {
		return f.Layer.OpenHandle(ctx, name, flags, perm)
	}
	const op = "stagefs.OpenHandle"
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	if id, ok := pfs.HandleIDOf(ctx); ok && id.Continue {
		if h, err := f.continueNameless(ctx, id.File, name, flags); h != nil || err != nil {
			return h, err
		}
	}
	var h *handle
	err := f.with(ctx, op, func(files []*file) (err error) {
		h, err = files[0].open(ctx, flags, perm)
		return err
	}, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Open opens the file name for reading. If it is staged and differs from the store, the File reads
// the staged bytes until they change.
func (f *FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if fl := f.lookup(name); fl != nil {
		if file, err := fl.openStaged(ctx); file != nil || err != nil {
			return file, err
		}
	}
	return f.Layer.Open(ctx, name)
}

// OpenInfo is Open with the caller's Info of name. It saves a request if the file system below has
// this method and the file is not in use.
func (f *FS) OpenInfo(ctx context.Context, name pfs.Path, info pfs.Info) (pfs.File, error) {
	below, ok := f.below.(interface {
		OpenInfo(ctx context.Context, name pfs.Path, info pfs.Info) (pfs.File, error)
	})
	if !ok || f.lookup(name) != nil || f.ids.shown(info.ID) != info.ID {
		return f.Open(ctx, name)
	}
	return below.OpenInfo(ctx, name, info)
}

// openBelow opens a file of the store, with the ID that users know.
func (f *FS) openBelow(ctx context.Context, below pfs.FileSystem, name pfs.Path) (pfs.File, error) {
	file, err := below.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if info := file.Info(); f.ids.shown(info.ID) != info.ID {
		info.ID = f.ids.shown(info.ID)
		return renumbered{file, info}, nil
	}
	return file, nil
}

// renumbered is a File with another ID.
type renumbered struct {
	pfs.File
	info pfs.Info
}

func (r renumbered) Info() pfs.Info { return r.info }

// Local returns the local file that has the content of the file below, or nil.
func (r renumbered) Local() *os.File {
	if l, ok := r.File.(interface{ Local() *os.File }); ok {
		return l.Local()
	}
	return nil
}

// info corrects the store's Info of a file that is being written.
func (f *FS) info(_ context.Context, name pfs.Path, info pfs.Info) (pfs.Info, error) {
	if !info.IsRegular() {
		return info, nil
	}
	info.ID = f.ids.shown(info.ID)
	if fl := f.lookup(name); fl != nil {
		info = fl.describe(info)
	}
	return info, nil
}

// settle sends all written bytes of the file name to the store, if the file is in use.
func (f *FS) settle(ctx context.Context, name pfs.Path) error {
	fl := f.lookup(name)
	if fl == nil {
		return nil
	}
	if err := fl.lock(ctx); err != nil {
		return err
	}
	defer fl.unlock()
	if err := fl.sync(ctx, false); err != nil && (fl.unsynced || fl.stage != nil) { // and not given up
		return err
	}
	return nil
}

// SetAttr sets attributes of name. A Size is set through a handle.
func (f *FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) (err error) {
	const op = "stagefs.SetAttr"
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	stages, failed := false, error(nil)
	if mask&pfs.AttrSize != 0 && name != pfs.Root {
		stages, failed = f.stages(ctx, name.Parent())
	}
	if !stages || failed != nil {
		if fl := f.lookup(name); fl != nil {
			if err := fl.lock(ctx); err != nil {
				return err
			}
			defer fl.unlock()
			if fl.stage != nil {
				return fl.setAttr(ctx, mask, attrs)
			}
			if err := fl.sync(ctx, false); err != nil { // later it would change the time
				return err
			}
		}
		return f.Layer.SetAttr(ctx, name, mask, attrs)
	}
	h, err := f.OpenHandle(ctx, name, pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	return h.SetAttr(ctx, mask&^pfs.AttrLink, attrs)
}

// lookup returns the file that has the name, if it is in use or staged.
func (f *FS) lookup(name pfs.Path) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[name]
}

// with calls do with the locked files of names. They keep the names meanwhile, but for moves of
// directories.
func (f *FS) with(ctx context.Context, op string, do func(files []*file) error, names ...pfs.Path) error {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	var locked []*file
	defer func() {
		for _, fl := range locked {
			fl.unlock()
			f.release(fl)
		}
	}()
	for _, name := range sorted {
		for {
			if err := pfs.CheckContext(ctx, op, name); err != nil {
				return err
			}
			fl := f.acquire(name)
			if err := fl.lock(ctx); err != nil {
				f.release(fl)
				return err
			}
			if f.nameOf(fl) == name {
				locked = append(locked, fl)
				break
			}
			fl.unlock() // it was moved while this goroutine waited
			f.release(fl)
		}
	}
	files := make([]*file, len(names))
	for i, name := range names {
		at, _ := slices.BinarySearch(sorted, name)
		files[i] = locked[at]
	}
	return do(files)
}

// acquire returns the file of name. The caller releases it.
func (f *FS) acquire(name pfs.Path) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.files[name]
	if fl == nil {
		fl = f.newFile(name)
		f.files[name] = fl
	}
	fl.users++
	return fl
}

// acquireAll returns all files. The caller releases each.
func (f *FS) acquireAll() []*file {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Collect(maps.Values(f.files))
	for _, fl := range all {
		fl.users++
	}
	return all
}

// newFile returns a file that is not in use.
func (f *FS) newFile(name pfs.Path) *file {
	return &file{fs: f, name: name, sem: make(chan struct{}, 1)}
}

// release gives a file back.
func (f *FS) release(fl *file) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl.users--
	if fl.users == 0 && !fl.staged.Load() && f.files[fl.name] == fl {
		delete(f.files, fl.name)
	}
}

// nameOf returns the name of fl, empty if it has none.
func (f *FS) nameOf(fl *file) pfs.Path {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fl.name
}

// forget takes the name from fl: another file has it now, or none.
func (f *FS) forget(fl *file) {
	f.mu.Lock()
	if f.files[fl.name] == fl {
		delete(f.files, fl.name)
	}
	fl.name = ""
	f.mu.Unlock()
	if fl.stage == nil {
		fl.setTail(nil)
		return
	}
	fl.mu.Lock()
	fl.stage.detach(fl.handles)
	fl.mu.Unlock()
	if fl.handles == 0 {
		fl.drop()
	}
}

// below reports whether name is in the tree dir, but not dir itself.
func below(name, dir pfs.Path) bool {
	return dir == pfs.Root || strings.HasPrefix(string(name), string(dir)+"/")
}

// ids maps the ID of an uploaded file to the ID that users know. The lock file has them, for the
// replacement of this process.
type ids struct {
	mu       sync.Mutex
	now, old map[uint64]uint64 // by the ID of the store
	file     *os.File
}

// open takes over the IDs in file if resume is set, and else removes them.
func (i *ids) open(file *os.File, resume bool) error {
	var known []byte
	var err error
	if resume {
		known, err = io.ReadAll(file)
	}
	for ; len(known) >= 16; known = known[16:] {
		i.show(binary.LittleEndian.Uint64(known), binary.LittleEndian.Uint64(known[8:]))
	}
	i.file = file
	return errors.Join(err, i.rewrite())
}

// rewrite replaces the content of the file.
func (i *ids) rewrite() error {
	var all []byte
	for _, known := range []map[uint64]uint64{i.old, i.now} {
		for id, as := range known {
			all = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(all, id), as)
		}
	}
	err := i.file.Truncate(0)
	if err == nil {
		_, err = i.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = i.file.Write(all)
	}
	return err
}

// mostIDs is how many are remembered at least. A file that is forgotten is another file for users,
// as if it had been replaced.
const mostIDs = 50_000

func (i *ids) shown(id uint64) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if shown, ok := i.now[id]; ok {
		return shown
	}
	if shown, ok := i.old[id]; ok {
		return shown
	}
	return id
}

func (i *ids) show(id, as uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.now) >= mostIDs || i.now == nil {
		i.now, i.old = map[uint64]uint64{}, i.now
	}
	i.now[id] = as
	switch { // an error leads to ESTALE if this process is replaced
	case i.file == nil:
	case len(i.now) == 1:
		_ = i.rewrite()
	default:
		_, _ = i.file.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, id), as))
	}
}
