package cachefs

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// The states of a block.
const (
	missing   uint32 = iota
	unchecked        // on disk since an earlier run of the system
	good
)

// entry is one version of a file, while a reader or a request uses it.
type entry struct {
	fs       *FS
	name     pfs.Path
	info     pfs.Info
	key, sub string
	dir      *dir
	refs     int          // guarded by FS.mu
	readers  atomic.Int64 // open files

	once   sync.Once
	disk   *disk           // nil if the directory cannot be used
	states []atomic.Uint32 // of the blocks
	left   atomic.Int64    // blocks that are not good
	whole  atomic.Bool     // all blocks are good, and give the store's digest

	completing atomic.Bool // complete runs

	opening chan struct{} // held while src is opened

	mu      sync.Mutex
	sums    []pfs.LeafDigest // of the blocks that are not missing
	digest  string           // as the store has it; may be empty
	filled  bool             // blocks were read or written since the file was opened
	early   int64            // running fetches whose blocks readers have already
	damaged atomic.Int64     // how often readers may have got a wrong block: the digest or a checksum differed
	fetches map[int64]*fetch
	unkept  map[int64]pfs.LeafDigest // of blocks that readers have and the disk has not
	proven  bool                     // the checksums of all blocks, with those of unkept and early ones, give the digest
	kept    map[int64]*fetch         // whose buffers may still be in memory, though the disk has them
	src     *source
}

// source is an open file of the store. It is closed when nobody reads it and the entry has dropped it.
type source struct {
	pfs.File
	users int // guarded by entry.mu; the entry is one
}

// openDisk opens the files of the entry.
func (e *entry) openDisk() {
	if !e.dir.usable() {
		return
	}
	k, err := e.dir.open(e.sub, e.key, e.info.Size, e.fs.boot)
	if err != nil {
		e.dir.fail(err)
		return
	}
	e.disk, e.sums = k, k.sums
	e.states = make([]atomic.Uint32, len(e.sums))
	state := good
	if k.head.boot != e.fs.boot {
		state = unchecked
	}
	e.left.Store(int64(len(e.sums)))
	for b, sum := range e.sums {
		if sum != (pfs.LeafDigest{}) {
			e.setState(int64(b), state)
		}
	}
	if e.left.Load() == 0 {
		_ = e.finish() // a file whose digest is wrong has been removed, and is fetched again
	}
}

// setState changes the state of a block.
func (e *entry) setState(b int64, state uint32) {
	old := e.states[b].Swap(state)
	if state == good && old != good {
		e.left.Add(-1)
	}
	if state != good && old == good {
		e.left.Add(1)
	}
}

// finish compares the digest of a file with the store's once the checksums of all blocks are known. If
// they differ, it removes the file and returns Integrity; else the file is whole if all its blocks are
// good.
func (e *entry) finish() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unknown() > 0 || e.whole.Load() {
		return nil
	}
	sums := slices.Clone(e.sums)
	for b, sum := range e.unkept {
		sums[b] = sum
	}
	if err := e.checkDigest(sums...); err != nil {
		e.damaged.Add(1)
		e.proven = false
		clear(e.unkept)
		e.dropKept()
		for b := range e.states {
			e.setState(int64(b), missing)
			e.sums[b] = pfs.LeafDigest{}
		}
		if failed := errors.Join(e.disk.forget(), e.disk.remove()); failed != nil {
			e.dir.fail(failed)
		}
		return err
	}
	if e.left.Load() > 0 {
		return nil
	}
	if e.disk.head.boot != e.fs.boot {
		if err := e.disk.checked(e.fs.boot); err != nil {
			e.dir.fail(err) // it is checked again next time
		}
	}
	if e.filled && len(e.states) > 1 {
		// Reads during the fill left small pages. Without them the kernel reads the file into large pages.
		dropPages(e.disk.data)
	}
	e.whole.Store(true)
	if s := e.src; s != nil && s.users == 1 { // it is not needed any more
		e.src = nil
		_ = s.Close()
	}
	return nil
}

// dropKept releases the memory of the blocks that readers have not read. The caller holds e.mu, or is the last user.
func (e *entry) dropKept() {
	for _, f := range e.kept {
		f.mu.Lock()
		kept := f.kept
		f.mu.Unlock()
		if kept != nil {
			e.fs.queue.unkeep(kept)
		}
	}
	clear(e.kept)
}

// local returns the data file if the whole content is in it.
func (e *entry) local() *os.File {
	if !e.whole.Load() {
		return nil
	}
	return e.disk.data
}

// opened reports whether the store's file is open.
func (e *entry) opened() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.src != nil
}

// is reports whether info describes the version of e.
func (e *entry) is(info pfs.Info) bool {
	return info.Version == e.info.Version && info.Size == e.info.Size && info.ModTime.Equal(e.info.ModTime)
}

// learn takes the digest from info, which listings may leave out.
func (e *entry) learn(info pfs.Info) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if info.Digest != "" {
		e.digest = info.Digest
	}
}

// changed returns the error of a read of a version that the store no longer has.
func (e *entry) changed() error {
	return pfs.Errorf("cachefs.File.ReadAt", e.name, pfs.Conflict, "the file has changed since it was opened: open it again")
}

// offer gives the entry an open file of the store, which it closes.
func (e *entry) offer(f pfs.File) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.src == nil && !e.whole.Load() {
		e.src = &source{f, 1}
		return
	}
	_ = f.Close()
}

// source returns the store's file, and opens it if necessary. The caller gives it back with done.
func (e *entry) source(ctx context.Context) (*source, error) {
	const op = "cachefs.source"
	select {
	case e.opening <- struct{}{}:
		defer func() { <-e.opening }()
	case <-ctx.Done():
		return nil, pfs.CheckContext(ctx, op, e.name)
	}
	e.mu.Lock()
	if s := e.src; s != nil {
		s.users++
		e.mu.Unlock()
		return s, nil
	}
	e.mu.Unlock()
	f, err := e.fs.below.Open(ctx, e.name)
	if err != nil {
		return nil, err
	}
	if !e.is(f.Info()) {
		_ = f.Close()
		return nil, e.changed()
	}
	e.learn(f.Info())
	s := &source{f, 2}
	e.mu.Lock()
	e.src = s
	e.mu.Unlock()
	return s, nil
}

// done gives back s after a read. After an error the next read opens the file again, since its
// handle may be of no use any more.
func (e *entry) done(s *source, err error) {
	e.mu.Lock()
	drop := err != nil && e.src == s
	if drop {
		e.src = nil
		s.users--
	}
	s.users--
	last := s.users == 0
	e.mu.Unlock()
	if last {
		_ = s.Close() // nothing was written
	}
}

// close closes the open files of the entry, which is not in use any more.
func (e *entry) close() {
	e.dropKept()
	if e.src != nil {
		_ = e.src.Close()
	}
	if e.disk != nil {
		filled := func(sum pfs.LeafDigest) bool { return sum != pfs.LeafDigest{} }
		if !slices.ContainsFunc(e.sums, filled) && lock(e.disk.data, true) == nil {
			_ = e.disk.remove() // an empty file is of no use, and evicted some day
		}
		e.disk.close()
	}
}
