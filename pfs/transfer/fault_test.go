package transfer

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// faulty is a file system with the faults of disks, networks and other programs. Each hook, if set,
// is called before the operation, and its error is the operation's.
type faulty struct {
	*memfs.FS
	before func(op string, name pfs.Path) error

	failing func(op string, name pfs.Path, off int64) error // is before that knows where is written

	wire bool  // staged bytes cannot be read back, Commit checks the digest
	unit int64 // of uploads, if not 0; the order of writes within it is checked
	flip func(op string, off int64, p []byte)

	// lose, if set, returns the units of an upload that are lost now, at a write at an offset or at
	// a commit, which then returns Integrity. So do writes behind a gap in a unit, until the unit
	// is written again from its start.
	lose func(op string, off int64) (units []int64)

	read, written, batches, creates, mkdirs, lists, stats atomic.Int64

	t  testing.TB
	mu sync.Mutex
	at map[string]map[int64]int64 // by staged ID and unit: where it is written next; -1 if it was lost
}

func newFaulty(t testing.TB) *faulty {
	return &faulty{FS: memfs.New(memfs.Options{}), t: t, at: map[string]map[int64]int64{}}
}

func (f *faulty) hook(op string, name pfs.Path) error { return f.hookAt(op, name, 0) }

func (f *faulty) hookAt(op string, name pfs.Path, off int64) error {
	if f.failing != nil {
		return f.failing(op, name, off)
	}
	if f.before == nil {
		return nil
	}
	return f.before(op, name)
}

func (f *faulty) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if err := f.hook("open", name); err != nil {
		return nil, err
	}
	g, err := f.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{g, f, name}, nil
}

func (f *faulty) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	f.stats.Add(1)
	if err := f.hook("stat", name); err != nil {
		return pfs.Info{}, err
	}
	return f.FS.Stat(ctx, name)
}

func (f *faulty) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	f.lists.Add(1)
	if err := f.hook("list", name); err != nil {
		return pfs.Page{}, err
	}
	page, err := f.FS.List(ctx, name, opts)
	for i := range page.Entries {
		if !opts.Digests {
			page.Entries[i].Digest = ""
		}
	}
	return page, err
}

func (f *faulty) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	f.mkdirs.Add(1)
	if err := f.hook("mkdir", name); err != nil {
		return err
	}
	return f.FS.Mkdir(ctx, name, mode)
}

func (f *faulty) Remove(ctx context.Context, name pfs.Path) error {
	if err := f.hook("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(ctx, name)
}

// remote is a faulty source that is read in batches, as a client is.
type remote struct {
	*faulty
	reads atomic.Int64
}

func (r *remote) ReadBatch(ctx context.Context, files []pfs.BatchFile) []error {
	r.reads.Add(1)
	return pfs.ReadBatch(ctx, r.faulty, files)
}

func (f *faulty) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	f.batches.Add(1)
	errs := make([]error, len(entries))
	for i, e := range entries {
		if errs[i] = f.hook("batch", e.Path); errs[i] == nil {
			errs[i] = f.FS.WriteBatch(ctx, []pfs.BatchEntry{e})[0]
			f.written.Add(int64(len(e.Data)))
		}
	}
	return errs
}

func (f *faulty) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	f.creates.Add(1)
	if err := f.hook("create", name); err != nil {
		return nil, err
	}
	w, err := f.FS.Create(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	s := &faultyStaged{w, f, name}
	if f.wire || f.unit != 0 {
		return s, nil
	}
	return localStaged{s}, nil
}

// localStaged hides that an upload can return digests.
type localStaged struct{ pfs.Staged }

type faultyFile struct {
	pfs.File
	f    *faulty
	name pfs.Path
}

func (g *faultyFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := g.f.hook("read", g.name); err != nil {
		return 0, err
	}
	n, err := g.File.ReadAt(ctx, p, off)
	if g.f.flip != nil {
		g.f.flip("read", off, p[:n])
	}
	g.f.read.Add(int64(n))
	return n, err
}

type faultyStaged struct {
	pfs.Staged
	f    *faulty
	name pfs.Path
}

func (w *faultyStaged) Unit() int64 {
	if w.f.unit != 0 {
		return w.f.unit
	}
	return w.Staged.Unit()
}

func (w *faultyStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := w.f.hookAt("write", w.name, off); err != nil {
		return 0, err
	}
	if err := w.lost(ctx, "write", off); err != nil {
		return 0, err
	}
	if w.f.unit != 0 {
		if err := w.checkOrder(off, int64(len(p))); err != nil {
			return 0, err
		}
	}
	if w.f.flip != nil {
		p = append([]byte(nil), p...)
		w.f.flip("write", off, p)
	}
	w.f.written.Add(int64(len(p)))
	return w.Staged.WriteAt(ctx, p, off)
}

// lost spoils the units that are to be lost now.
func (w *faultyStaged) lost(ctx context.Context, op string, off int64) error {
	if w.f.lose == nil {
		return nil
	}
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	units := w.f.lose(op, off)
	for _, unit := range units {
		w.f.at[w.ID()][unit] = -1
		if _, err := w.Staged.WriteAt(ctx, make([]byte, w.f.unit), unit*w.f.unit); err != nil {
			return err
		}
	}
	if len(units) == 0 {
		return nil
	}
	return pfs.Errorf("faulty.lost", w.name, pfs.Integrity, "units %d were lost", units)
}

// checkOrder fails the test unless each piece is written in order from its start. One
// that was lost answers Integrity until it is written from there.
func (w *faultyStaged) checkOrder(off, n int64) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	next := w.f.at[w.ID()]
	if next == nil {
		next = map[int64]int64{}
		w.f.at[w.ID()] = next
	}
	for n > 0 {
		unit := off / w.f.unit
		start := off - unit*w.f.unit
		if start != 0 && next[unit] < 0 {
			return pfs.Errorf("faulty.checkOrder", w.name, pfs.Integrity, "unit %d was lost", unit)
		}
		if start != 0 && start != next[unit] {
			w.f.t.Errorf("piece %d is written at %d after %d", unit, start, next[unit])
		}
		k := min(n, w.f.unit-start)
		next[unit] = start + k
		off, n = off+k, n-k
	}
	return nil
}

func (w *faultyStaged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if w.f.wire {
		return 0, pfs.E("faulty.ReadAt", w.name, pfs.Unsupported, nil)
	}
	if err := w.f.hook("readback", w.name); err != nil {
		return 0, err
	}
	return w.Staged.ReadAt(ctx, p, off)
}

func (w *faultyStaged) Sync(ctx context.Context) error {
	if err := w.f.hook("sync", w.name); err != nil {
		return err
	}
	return w.Staged.Sync(ctx)
}

func (w *faultyStaged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	if err := w.f.hook("leaves", w.name); err != nil {
		return nil, err
	}
	return w.Staged.(pfs.LeafDigester).LeafDigests(ctx, size, first, n)
}

func (w *faultyStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.f.hook("commit", w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := w.lost(ctx, "commit", 0); err != nil {
		return pfs.Info{}, err
	}
	if w.f.wire {
		read := func(p []byte, off int64) error {
			if !readBack(ctx, w.Staged, p, off) {
				return pfs.E("faulty.Commit", w.name, pfs.Integrity, nil)
			}
			return nil
		}
		sum, err := digest.Of(ctx, read, opts.Size, digest.XXH3, 1, nil)
		if err != nil {
			return pfs.Info{}, err
		}
		if sum != opts.Digest {
			return pfs.Info{}, pfs.Errorf("faulty.Commit", w.name, pfs.Integrity, "%s and %s", sum, opts.Digest)
		}
	}
	return w.Staged.Commit(ctx, opts)
}

// plain hides all capabilities of a file system.
type plain struct{ pfs.FileSystem }
