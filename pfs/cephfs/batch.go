//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Limits of a group of entries that is made durable at once.
const (
	groupFiles = 1024
	groupBytes = 64 << 20
	// Groups of at most groupFew files are made durable one by one: a sync of the whole mount may
	// wait for the bytes of other files.
	groupFew = 8
	// groupJobs is the number of files written in parallel, in groupDirs directories.
	groupJobs = 32
	groupDirs = 4
)

// WriteBatch stages a group of files in parallel, makes all of them durable with one sync of the
// mount, gives them their names and makes each directory durable once.
func (f FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	b := &batch{fs: f, ctx: ctx, entries: entries, errs: make([]error, len(entries)), names: map[pfs.Path]bool{}}
	for i, e := range entries {
		if b.full(e) {
			b.flush()
		}
		b.add(i, e)
	}
	b.flush()
	return b.errs
}

const batchOp = "cephfs.WriteBatch"

// batch is the state of one WriteBatch and of its current group.
type batch struct {
	fs      FS
	ctx     context.Context
	entries []pfs.BatchEntry // of the whole batch
	errs    []error

	group []*batchFile
	names map[pfs.Path]bool // of group
	bytes int

	// silent is the error of the first entry for which the cluster did not answer. No further one
	// is tried.
	silent atomic.Pointer[pfs.Error]
}

// batchFile is a file of the current group.
type batchFile struct {
	i     int
	entry pfs.BatchEntry
	temp  string // "" before it is created and after it is published
	open  filled // temp, until it is durable under its name

	closed atomic.Bool // open is closed, or being closed
}

// filled is an open temporary with its content and stored digest.
type filled struct {
	*handle
	mark digest.Mark
}

// full reports whether the group must end before e: because it is large enough, or because it has
// an entry with the name of e or of e's directory.
func (b *batch) full(e pfs.BatchEntry) bool {
	return len(b.group) >= groupFiles || b.bytes >= groupBytes || b.names[e.Path] || b.names[e.Path.Parent()]
}

// add makes a directory, or adds a file to the group.
func (b *batch) add(i int, e pfs.BatchEntry) {
	if e.Mode.IsDir() {
		b.errs[i] = b.unlessSilent(e, func() error { return b.fs.Mkdir(b.ctx, e.Path, e.Mode) })
		return
	}
	if b.errs[i] = check(b.ctx, batchOp, e.Path); b.errs[i] != nil {
		return
	}
	if len(e.Data) > blockSize {
		b.errs[i] = b.unlessSilent(e, func() error { return b.writeLarge(e) })
		return
	}
	b.group = append(b.group, &batchFile{i: i, entry: e})
	b.names[e.Path] = true
	b.bytes += len(e.Data)
}

// flush ends the group.
func (b *batch) flush() {
	inParallel(groupJobs, len(b.group), func(k int) {
		w := b.group[k]
		b.errs[w.i] = b.unlessSilent(w.entry, func() error { return b.stage(w) })
	})
	if len(b.group) > groupFew {
		b.sync()
	}
	b.publish()
	silent := false // Sweep removes the remaining temporaries
	for _, w := range b.group {
		if err := w.close(func(h *handle) error { return closeHandle(b.ctx, b.fs, h) }); b.errs[w.i] == nil {
			b.errs[w.i] = fail(batchOp, w.entry.Path, err)
		}
		if w.temp != "" && !silent {
			silent = errors.Is(b.discard(w), pfs.Unavailable)
		}
	}
	b.group, b.names, b.bytes = nil, map[pfs.Path]bool{}, 0
}

// unlessSilent calls make for e, unless the cluster did not answer for an earlier entry: each
// further one would wait as long.
func (b *batch) unlessSilent(e pfs.BatchEntry, make func() error) error {
	if said := b.silent.Load(); said != nil {
		return pfs.E(said.Op, e.Path, said.Kind, said.Err)
	}
	began := time.Now()
	err := make()
	var said *pfs.Error
	if errors.As(err, &said) && said.Kind == pfs.Unavailable && time.Since(began) >= b.fs.store.opts.Timeout {
		b.silent.Store(said)
	}
	return err
}

// stage writes one temporary.
func (b *batch) stage(w *batchFile) error {
	e := w.entry
	if err := writable(batchOp, e.Path); err != nil {
		return err
	}
	data, err := b.fs.store.movingBuffer(b.ctx, len(e.Data))
	if err != nil {
		return fail(batchOp, e.Path, err)
	}
	copy(data.p, e.Data)
	w.temp = newBatchTemp(time.Now())
	temp := w.temp
	w.open, err = at(b.ctx, b.fs, batchOp, e.Path, func(d *dir, base string) (filled, error) {
		if err := d.lookAtTarget(base, e.Path, e.NoReplace); err != nil {
			return filled{}, err
		}
		return b.fs.fill(d, temp, e, data.p)
	}, func(f filled) { f.drop() })
	data.free(err)
	return err
}

// fill makes the temporary of e with the content p.
func (f FS) fill(d *dir, temp string, e pfs.BatchEntry, p []byte) (filled, error) {
	h, st, err := d.create(temp, 0o600, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL)
	if err != nil {
		return filled{}, err
	}
	m, err := f.fillOpen(d.c, h, e, p)
	if err == nil {
		err = f.finalize(d.c, h, e.Commit(), m, st)
	}
	if err != nil {
		h.drop()
		return filled{}, err
	}
	return filled{h, m}, nil
}

// fillOpen writes the content and the stored digest of e. If the caller states the time, the digest
// comes first: after a write, the MDS would ask for the length of the file before it takes an
// attribute. Otherwise the digest comes last, so that its time is not before that of the bytes: if
// the session ends before the file is closed, the MDS gives the file the time of its bytes.
func (f FS) fillOpen(c *call, h *handle, e pfs.BatchEntry, p []byte) (m digest.Mark, err error) {
	early := !e.ModTime.IsZero()
	if early {
		m, err = f.mark(c, h, "", e.Commit())
	}
	if err == nil {
		_, err = h.write(c, p, 0)
	}
	if err == nil && !early {
		m, err = f.mark(c, h, "", e.Commit())
	}
	return m, err
}

// writeLarge writes a file of more than a block on its own.
func (b *batch) writeLarge(e pfs.BatchEntry) error {
	w, err := b.fs.create(b.ctx, batchOp, e.Path, pfs.CreateOptions{Size: int64(len(e.Data))})
	if err != nil {
		return err
	}
	defer w.Close(b.ctx)
	if _, err := w.WriteAt(b.ctx, e.Data, 0); err != nil {
		return err
	}
	_, err = w.Commit(b.ctx, e.Commit())
	return err
}

// lookAtTarget refuses a target that may not be replaced.
func (d *dir) lookAtTarget(base string, name pfs.Path, noReplace bool) error {
	st, err := d.stat(base)
	if err != nil {
		return posix.UnlessMissing(err)
	}
	return rules.Publish(batchOp, name, st.mode, noReplace)
}

// sync makes the staged files durable.
func (b *batch) sync() {
	_, err := run(b.ctx, b.fs, func(c *call) (struct{}, error) {
		return struct{}{}, c.syncMount()
	}, nil)
	for _, w := range b.group {
		if b.errs[w.i] == nil {
			b.errs[w.i] = fail(batchOp, w.entry.Path, err)
		}
	}
}

// publish gives the files their names, one directory at a time.
func (b *batch) publish() {
	in := map[pfs.Path][]*batchFile{}
	for _, w := range b.group {
		if b.errs[w.i] == nil {
			in[w.entry.Path.Parent()] = append(in[w.entry.Path.Parent()], w)
		}
	}
	dirs := slices.Collect(maps.Keys(in))
	inParallel(groupDirs, len(dirs), func(k int) { b.publishIn(dirs[k], in[dirs[k]]) })
}

// publishIn gives the files of one directory their names, and makes all these names durable
// together.
func (b *batch) publishIn(parent pfs.Path, files []*batchFile) {
	errs, err := changeIn(b.ctx, b.fs, batchOp, parent, pathsOf(files), func(d *dir) ([]error, error) {
		errs := make([]error, len(files))
		return errs, d.durably(func() error {
			inParallel(groupJobs/groupDirs, len(files), func(k int) { errs[k] = d.publish(files[k]) })
			return d.named(files, errs)
		})
	})
	for k, w := range files {
		switch {
		case err != nil:
			b.errs[w.i] = pfs.E(batchOp, w.entry.Path, pfs.KindOf(err), err)
		case errs[k] != nil:
			b.errs[w.i] = fail(batchOp, w.entry.Path, errs[k])
		default:
			w.temp = ""
		}
	}
}

// pathsOf returns the target names of the files.
func pathsOf(files []*batchFile) []pfs.Path {
	names := make([]pfs.Path, len(files))
	for k, w := range files {
		names[k] = w.entry.Path
	}
	return names
}

// publish gives one durable file its name.
func (d *dir) publish(w *batchFile) error {
	h := w.open.handle
	if h.m != d.c.m || !h.tryHold() {
		return errForgotten
	}
	defer h.drop()
	if err := h.finalized(d.c, w.open.mark); err != nil {
		return err
	}
	return d.rename(w.temp, d, w.entry.Path.Base(), w.entry.NoReplace)
}

// named waits until the new names of the files without an error are durable, and drops the files'
// caps (see dir.dropCaps). A sync of the directory waits for names that were made or removed in it,
// but not for changed names; a sync of the file waits for those, and a sync of the mount waits for
// those of all files.
func (d *dir) named(files []*batchFile, errs []error) error {
	drop := d.touch
	if len(files) <= groupFew {
		drop = func(in *cInode) error {
			_, err := d.dropCaps(in)
			return err
		}
	}
	inParallel(groupJobs/groupDirs, len(files), func(k int) {
		if errs[k] == nil {
			errs[k] = d.letGo(files[k], drop)
		}
	})
	if len(files) <= groupFew {
		return nil
	}
	return d.c.syncMount()
}

// letGo closes a published file and calls drop for it.
func (d *dir) letGo(w *batchFile, drop func(in *cInode) error) error {
	return posix.UnlessMissing(d.on(w.entry.Path.Base(), func(in *cInode, _ stat) error {
		if err := w.close((*handle).close); err != nil {
			return err
		}
		return drop(in)
	}))
}

// syncMount makes all changes over the mount durable.
func (c *call) syncMount() error {
	return c.lib(func(*cMount, *cPerms) error {
		if err := c.m.info.SyncFs(); err != nil {
			return errnoOf(err)
		}
		return nil
	})
}

// close calls do with the open temporary, once only: an abandoned call may come late.
func (w *batchFile) close(do func(h *handle) error) error {
	if !w.closed.CompareAndSwap(false, true) {
		return nil
	}
	return do(w.open.handle)
}

// discard removes the temporary of a file that was not published.
func (b *batch) discard(w *batchFile) error {
	temp := w.temp
	return b.fs.change(context.WithoutCancel(b.ctx), batchOp, w.entry.Path, func(d *dir, _ string) error {
		return posix.UnlessMissing(d.unlink(temp))
	})
}

// newBatchTemp returns a fresh name for a file of a batch that has no name yet.
func newBatchTemp(now time.Time) string { return digest.TempName(pfs.BatchPrefix, now) }

// batchTempSince returns when newBatchTemp made name, if it did.
func batchTempSince(name string) (since time.Time, ok bool) {
	return digest.TempSince(pfs.BatchPrefix, name)
}
