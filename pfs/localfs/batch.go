package localfs

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Limits of a group of entries that share one sync.
const (
	groupFiles = 1024
	groupBytes = 64 << 20
	groupDirs  = 64 // each is open until the group ends
	// Groups of at most groupFew files are synced file by file: to sync the whole disk could wait
	// for the bytes of other writers.
	groupFew = 8
	// groupJobs is the number of files that are written in parallel.
	groupJobs = 4
)

// WriteBatch stages a group of files in parallel, makes all of them durable with one
// sync of the disk, gives them their names in order and syncs each directory once.
func (f *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	b := &batch{fs: f, ctx: ctx, entries: entries, errs: make([]error, len(entries))}
	for i, e := range entries {
		if b.full(e) {
			b.flush()
		}
		b.add(i, e)
	}
	b.flush()
	return b.errs
}

const batchOp = "localfs.WriteBatch"

// batch is the state of one WriteBatch and of its current group.
type batch struct {
	fs      *FS
	ctx     context.Context
	entries []pfs.BatchEntry // of the whole batch
	errs    []error

	files   []*batchFile
	names   map[pfs.Path]bool // of files
	bytes   int
	parents map[pfs.Path]*batchDir
	disks   map[uint64]disk // by device; nil for one that cannot be synced as a whole
}

// batchDir is a directory that a group writes to.
type batchDir struct {
	place
	disk    disk  // that it is on; nil if none is needed or available
	changed []int // entries that only need the sync
}

// batchFile is a file of the current group.
type batchFile struct {
	i       int
	entry   pfs.BatchEntry
	in      *batchDir
	base    string
	temp    string // "" if there is none
	open    tempID // identifies temp, whose quota claimed counts
	claimed *claim // nil until claimed
	spare   int64
	extra   int64
}

// full reports whether the group must end before e: because it is large enough, or because e
// depends on a file of the group.
func (b *batch) full(e pfs.BatchEntry) bool {
	return len(b.files) >= groupFiles || b.bytes >= groupBytes || len(b.parents) >= groupDirs ||
		b.names[e.Path.Parent()] || e.Mode.IsDir() && b.names[e.Path]
}

// add makes a directory, or adds a file to the group.
func (b *batch) add(i int, e pfs.BatchEntry) {
	if err := b.fs.check(b.ctx, batchOp, e.Path); err != nil {
		b.errs[i] = err
		return
	}
	in, err := b.parent(e.Path.Parent())
	if err != nil {
		b.errs[i] = fail(batchOp, e.Path, err)
		return
	}
	if !e.Mode.IsDir() {
		b.files = append(b.files, &batchFile{i: i, entry: e, in: in, base: e.Path.Base()})
		b.names[e.Path] = true
		b.bytes += len(e.Data)
		return
	}
	made, err := b.fs.mkdir(b.ctx, batchOp, in.place, lastName(e.Path), e.Path, e.Mode)
	if made {
		in.changed = append(in.changed, i)
	}
	b.errs[i] = fail(batchOp, e.Path, err)
}

// parent returns an open directory, and opens it on first use.
func (b *batch) parent(name pfs.Path) (*batchDir, error) {
	if in := b.parents[name]; in != nil {
		return in, nil
	}
	p, err := b.fs.openPlace(relative(name))
	if err != nil {
		return nil, err
	}
	in := &batchDir{place: p}
	if in.disk, err = b.disk(p.dir); err != nil {
		p.dir.Close()
		return nil, err
	}
	if b.parents == nil {
		b.parents, b.names = map[pfs.Path]*batchDir{}, map[pfs.Path]bool{}
	}
	b.parents[name] = in
	return in, nil
}

// disk returns the open disk that holds d. It must be opened before the group writes to it, because
// the kernel reports lost bytes only to descriptors that were open at the time.
func (b *batch) disk(d dir) (disk, error) {
	if b.fs.opts.NoSync || !syncsWholeDisk {
		return nil, nil
	}
	st, err := d.stat(".", false)
	if err != nil {
		return nil, err
	}
	if opened, ok := b.disks[st.dev]; ok {
		return opened, nil
	}
	opened, err := d.disk()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if b.disks == nil {
		b.disks = map[uint64]disk{}
	}
	b.disks[st.dev] = opened
	return opened, nil
}

// flush ends the group.
func (b *batch) flush() {
	b.stage()
	b.syncFiles()
	for _, w := range b.files {
		if b.errs[w.i] == nil {
			b.errs[w.i] = fail(batchOp, w.entry.Path, b.publish(w))
		}
		b.drop(w)
	}
	for _, in := range b.parents {
		b.syncDir(in)
		in.dir.Close()
	}
	for _, d := range b.disks {
		if d != nil {
			d.Close()
		}
	}
	b.files, b.names, b.parents, b.disks, b.bytes = nil, nil, nil, nil, 0
}

// stage writes the temporaries.
func (b *batch) stage() {
	single := b.single()
	var wg sync.WaitGroup
	for j := range min(groupJobs, len(b.files)) {
		wg.Go(func() {
			for k := j; k < len(b.files); k += groupJobs {
				w := b.files[k]
				err := b.fs.full(batchOp, w.entry.Path, w.in.dir, int64(len(w.entry.Data)), b.write(w, single))
				b.errs[w.i] = fail(batchOp, w.entry.Path, err)
			}
		})
	}
	wg.Wait()
}

// single reports whether the group is synced file by file.
func (b *batch) single() bool { return !syncsWholeDisk || len(b.files) <= groupFew }

// write stages one file, and syncs it if the group is synced file by file.
func (b *batch) write(w *batchFile, sync bool) error {
	if err := pfs.CheckContext(b.ctx, batchOp, w.entry.Path); err != nil {
		return err
	}
	if err := b.claim(w); err != nil {
		return err
	}
	file, err := b.openTemp(w)
	if err != nil {
		return err
	}
	err = b.fill(w, file)
	if err == nil && sync {
		err = b.fs.sync(file)
	}
	return errors.Join(err, file.Close())
}

// openTemp makes the temporary and registers it, so that concurrent removals and counts know that
// its claim counts it.
func (b *batch) openTemp(w *batchFile) (*os.File, error) {
	temp := digest.StagedName(w.base, pfs.NewID())
	release, err := b.fs.hold(named{w.in.place, temp})
	if err != nil {
		return nil, err
	}
	defer release()
	file, err := w.in.dir.openFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, tempMode)
	if err != nil {
		return nil, err
	}
	w.temp = temp
	if len(w.in.trees) == 0 {
		return file, nil
	}
	st, err := statFile(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	w.open = newTempID(temp, st)
	b.fs.quotas.enter(w.open).claimed.Store(w.claimed)
	return file, nil
}

// claim checks the target and claims the quota that the file needs beyond it.
func (b *batch) claim(w *batchFile) error {
	if err := w.lookAtTarget(); err != nil {
		return err
	}
	if err := b.fs.ready(b.ctx, w.in.trees); err != nil {
		return err
	}
	w.claimed = &claim{trees: w.in.trees}
	return w.claimed.reach(w.needs())
}

// needs is the quota that the file needs.
func (w *batchFile) needs() need {
	size := int64(len(w.entry.Data))
	return need{limits: limits{max(0, size-w.spare), w.extra}}
}

// lookAtTarget refuses a target that may not be replaced.
func (w *batchFile) lookAtTarget() error {
	st, err := w.in.dir.stat(w.base, false)
	switch {
	case missing(err):
		w.spare, w.extra = 0, 1
		return nil
	case err != nil:
		return err
	}
	w.spare, w.extra = st.size, 0
	return rules.Publish(batchOp, w.entry.Path, st.mode, w.entry.NoReplace)
}

// fill writes the content and the attributes of the file.
func (b *batch) fill(w *batchFile, file *os.File) error {
	data := w.entry.Data
	for off := 0; off < len(data); off += pfs.ChunkSize {
		if err := pfs.CheckContext(b.ctx, batchOp, w.entry.Path); err != nil {
			return err
		}
		if _, err := writeSparse(file, data[off:min(len(data), off+pfs.ChunkSize)], int64(off)); err != nil {
			return err
		}
	}
	opts := w.entry.Commit()
	_, err := b.fs.finalize(w.in.dir, w.temp, file, "", opts, stat{size: opts.Size})
	return err
}

// syncFiles makes the staged files durable.
func (b *batch) syncFiles() {
	if b.single() || b.fs.opts.NoSync {
		return
	}
	synced := map[disk]error{}
	for _, w := range b.files {
		if b.errs[w.i] != nil {
			continue
		}
		err, done := synced[w.in.disk]
		switch {
		case w.in.disk == nil:
			err = b.fs.syncOne(w.in.dir, w.temp)
		case !done:
			err = w.in.disk.sync()
			synced[w.in.disk] = err
		}
		b.errs[w.i] = fail(batchOp, w.entry.Path, err)
	}
}

// syncOne makes a closed file durable.
func (f *FS) syncOne(d dir, name string) error {
	file, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.sync(file), file.Close())
}

// publish gives one file its name.
func (b *batch) publish(w *batchFile) error {
	return b.fs.holding(named{w.in.place, w.base}, w.temp, func() error { return b.rename(w) })
}

// rename is publish while the name and its file are held.
func (b *batch) rename(w *batchFile) error {
	if err := w.lookAtTarget(); err != nil {
		return err
	}
	if err := w.claimed.reach(w.needs()); err != nil {
		return err
	}
	if err := w.in.dir.rename(w.temp, w.in.dir, w.base, w.entry.NoReplace); err != nil {
		return err
	}
	w.temp = ""
	w.claimed.book(sums{bytes: int64(len(w.entry.Data)) - w.spare, files: w.extra})
	w.in.changed = append(w.in.changed, w.i)
	return nil
}

// drop cleans up after a file that was not published.
func (b *batch) drop(w *batchFile) {
	if w.temp != "" {
		w.in.dir.unlink(w.temp)
	}
	b.leave(w)
	if w.claimed != nil {
		w.claimed.release()
	}
}

// leave ends the counting of the temporary by its claim. It waits for an operation that is removing
// the temporary, because that checks afterwards who counted it.
func (b *batch) leave(w *batchFile) {
	if w.open == (tempID{}) {
		return
	}
	if release, err := b.fs.hold(named{w.in.place, w.open.name}); err == nil {
		defer release()
	}
	b.fs.quotas.leave(w.open)
}

// syncDir makes the group's new names in one directory durable.
func (b *batch) syncDir(in *batchDir) {
	if len(in.changed) == 0 {
		return
	}
	err := b.fs.syncDir(in.dir)
	if err == nil {
		return
	}
	for _, i := range in.changed {
		b.errs[i] = fail(batchOp, b.entries[i].Path, err)
	}
}
