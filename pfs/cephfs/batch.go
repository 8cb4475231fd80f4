//go:build ceph

package cephfs

import (
	"context"
	"sync"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// Bounds of a group of entries that is made durable at once.
const (
	groupFiles = 1024
	groupBytes = 64 << 20
	// groupFew files or less are made durable one by one, since to sync the whole mount may mean
	// to wait for others' bytes.
	groupFew = 8
	// groupJobs files are on their way at the same time.
	groupJobs = 32
)

// WriteBatch stages a group of files in parallel, makes all of them durable with one sync of the
// mount, gives them their names and makes each directory durable once.
func (f *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
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

// batch is one WriteBatch with the group that is on.
type batch struct {
	fs      *FS
	ctx     context.Context
	entries []pfs.BatchEntry // all of them
	errs    []error

	group []*batchFile
	names map[pfs.Path]bool // of group
	bytes int
}

// batchFile is a file of a group on its way.
type batchFile struct {
	i     int
	entry pfs.BatchEntry
	temp  string // "" while there is none
}

// full reports whether the group must end before e: it is large enough, or has something of that
// name, or in the place of its directory.
func (b *batch) full(e pfs.BatchEntry) bool {
	return len(b.group) >= groupFiles || b.bytes >= groupBytes || b.names[e.Path] || b.names[e.Path.Parent()]
}

// add makes a directory, or takes a file into the group.
func (b *batch) add(i int, e pfs.BatchEntry) {
	if e.Mode.IsDir() {
		b.errs[i] = b.fs.Mkdir(b.ctx, e.Path, e.Mode)
		return
	}
	if b.errs[i] = check(b.ctx, batchOp, e.Path); b.errs[i] != nil {
		return
	}
	if len(e.Data) > pfs.ChunkSize {
		b.errs[i] = b.writeLarge(e)
		return
	}
	b.group = append(b.group, &batchFile{i: i, entry: e})
	b.names[e.Path] = true
	b.bytes += len(e.Data)
}

// flush ends the group.
func (b *batch) flush() {
	few := len(b.group) <= groupFew
	b.each(func(w *batchFile) error { return b.stage(w, few) })
	if !few {
		b.sync()
	}
	b.each(b.publish)
	b.syncDirs()
	for _, w := range b.group {
		if w.temp != "" {
			b.discard(w)
		}
	}
	b.group, b.names, b.bytes = nil, map[pfs.Path]bool{}, 0
}

// each calls do for every file of the group that has not failed, some at a time.
func (b *batch) each(do func(w *batchFile) error) {
	var wg sync.WaitGroup
	for j := range min(groupJobs, len(b.group)) {
		wg.Go(func() {
			for k := j; k < len(b.group); k += groupJobs {
				if w := b.group[k]; b.errs[w.i] == nil {
					b.errs[w.i] = do(w)
				}
			}
		})
	}
	wg.Wait()
}

// stage writes one temporary, and makes it durable if told to.
func (b *batch) stage(w *batchFile, sync bool) error {
	data, err := b.fs.store.buffer(b.ctx, len(w.entry.Data))
	if err != nil {
		return fail(batchOp, w.entry.Path, err)
	}
	copy(data.p, w.entry.Data)
	e := w.entry
	opts := pfs.CommitOptions{Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest, NoReplace: e.NoReplace}
	temp := stagedName(e.Path.Base(), pfs.NewID())
	w.temp = temp
	err = b.fs.change(b.ctx, batchOp, e.Path, func(d *dir, base string) error {
		if err := d.lookAtTarget(base, e.Path, opts.NoReplace); err != nil {
			return err
		}
		h, st, err := d.create(temp, 0o600, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL)
		if err != nil {
			return err
		}
		defer h.drop()
		if _, err := h.write(d.c, data.p, 0); err != nil {
			return err
		}
		st.size = opts.Size
		_, err = b.fs.dress(d.c, h, "", opts, st)
		if err == nil && sync {
			err = h.sync(d.c)
		}
		return err
	})
	data.free(err)
	return err
}

// writeLarge makes a file of more than a chunk by itself.
func (b *batch) writeLarge(e pfs.BatchEntry) error {
	w, err := b.fs.create(b.ctx, batchOp, e.Path, pfs.CreateOptions{Size: int64(len(e.Data))})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.WriteAt(b.ctx, e.Data, 0); err != nil {
		return err
	}
	_, err = w.Commit(b.ctx, pfs.CommitOptions{
		Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest, NoReplace: e.NoReplace,
	})
	return err
}

// lookAtTarget refuses what is at the name where it may not be replaced.
func (d *dir) lookAtTarget(base string, name pfs.Path, noReplace bool) error {
	st, err := d.stat(base)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case noReplace:
		return pfs.E(batchOp, name, pfs.Exist, nil)
	case st.mode.IsDir():
		return pfs.E(batchOp, name, pfs.IsDir, nil)
	}
	return nil
}

// sync makes all that was staged durable.
func (b *batch) sync() {
	_, err := run(b.ctx, b.fs, func(c *call) (struct{}, error) {
		return struct{}{}, c.lib(func(*cMount, *cPerms) error {
			if err := c.m.info.SyncFs(); err != nil {
				return errnoOf(err)
			}
			return nil
		})
	}, nil)
	for _, w := range b.group {
		if b.errs[w.i] == nil {
			b.errs[w.i] = fail(batchOp, w.entry.Path, err)
		}
	}
}

// publish gives one file its name.
func (b *batch) publish(w *batchFile) error {
	name, temp, noReplace := w.entry.Path, w.temp, w.entry.NoReplace
	return b.fs.change(b.ctx, batchOp, name, func(d *dir, base string) error {
		if err := d.lookAtTarget(base, name, noReplace); err != nil {
			return err
		}
		return d.rename(temp, d, base, noReplace)
	})
}

// syncDirs makes the names durable that the group made.
func (b *batch) syncDirs() {
	synced := map[pfs.Path]error{}
	for _, w := range b.group {
		if b.errs[w.i] != nil {
			continue
		}
		w.temp = ""
		parent := w.entry.Path.Parent()
		if _, ok := synced[parent]; !ok {
			_, synced[parent] = in(b.ctx, b.fs, batchOp, parent, func(d *dir) (struct{}, error) { return struct{}{}, d.sync() })
		}
		b.errs[w.i] = fail(batchOp, w.entry.Path, synced[parent])
	}
}

// discard undoes what is left of a file that was not published.
func (b *batch) discard(w *batchFile) {
	temp := w.temp
	_ = b.fs.change(context.WithoutCancel(b.ctx), batchOp, w.entry.Path, func(d *dir, _ string) error {
		return unlessMissing(d.unlink(temp))
	})
}
