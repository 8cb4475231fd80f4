package localfs

import (
	"context"
	"errors"
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// few is up to how many files a batch syncs one by one. More are synced together with
// everything else that waits on the disk, which costs as much as a handful of single
// syncs.
const few = 4

// batch is a WriteBatch at work.
type batch struct {
	fs      *FS
	entries []pfs.BatchEntry
	errs    []error
	dirs    map[pfs.Path]*dir // directories in use
	touched map[pfs.Path]*dir // those whose names changed
	pending []pendingFile     // written, not yet published
	names   map[pfs.Path]bool // of pending
	single  bool              // sync one by one
}

// pendingFile is an entry whose temporary is written.
type pendingFile struct {
	index int
	dir   *dir
	temp  string
	old   int64 // bytes that it will replace
	files int64 // 1 if it replaces nothing
}

// WriteBatch writes all temporaries, makes them durable together, and renames them.
func (s *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	b := &batch{
		fs: s, entries: entries, errs: make([]error, len(entries)),
		dirs: map[pfs.Path]*dir{}, touched: map[pfs.Path]*dir{}, names: map[pfs.Path]bool{},
		single: len(entries) <= few,
	}
	defer b.close()
	for i := range entries {
		b.errs[i] = b.take(ctx, i)
	}
	b.publish(ctx)
	b.syncNames()
	return b.errs
}

func (b *batch) close() {
	for _, d := range b.dirs {
		d.Close()
	}
}

// dir opens the directory name once.
func (b *batch) dir(op string, name pfs.Path) (*dir, error) {
	if d := b.dirs[name]; d != nil {
		return d, nil
	}
	d, err := b.fs.openDir(op, name)
	if err != nil {
		return nil, err
	}
	b.dirs[name] = d
	return d, nil
}

// take makes a directory, or writes the temporary of a file.
func (b *batch) take(ctx context.Context, i int) error {
	const op = "localfs.WriteBatch"
	e := b.entries[i]
	if err := begin(ctx, op, e.Path); err != nil {
		return err
	}
	if e.Path == pfs.Root {
		if e.Mode.IsDir() {
			return nil
		}
		return pfs.E(op, e.Path, pfs.IsDir, nil)
	}
	if b.names[e.Path] {
		b.publish(ctx) // the entries before have to be seen by this one
	}
	d, err := b.dir(op, e.Path.Parent())
	if err != nil {
		return err
	}
	if e.Mode.IsDir() {
		made, err := b.fs.mkdir(ctx, op, d, e.Path, e.Path.Base(), e.Mode)
		if made {
			b.touched[e.Path.Parent()] = d
		}
		return fail(op, e.Path, err)
	}
	return fail(op, e.Path, b.stage(ctx, op, d, i))
}

// stage writes the temporary of the entry i.
func (b *batch) stage(ctx context.Context, op string, d *dir, i int) error {
	e := b.entries[i]
	p := pendingFile{index: i, dir: d, files: 1}
	old, err := d.stat(e.Path.Base())
	switch {
	case err == nil && e.NoReplace:
		return pfs.E(op, e.Path, pfs.Exist, nil)
	case err == nil && old.info.IsDir():
		return pfs.E(op, e.Path, pfs.IsDir, nil)
	case err == nil:
		p.old, p.files = old.info.Size, 0
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := b.fs.quotas.charge(ctx, op, e.Path, int64(len(e.Data))-p.old, p.files); err != nil {
		return err
	}
	id := pfs.NewID()
	p.temp = tempName(id, e.Path.Base())
	if err := b.write(p, id); err != nil {
		_ = d.unlink(p.temp)
		b.refund(p)
		return err
	}
	b.pending = append(b.pending, p)
	b.names[e.Path] = true
	return nil
}

func (b *batch) write(p pendingFile, id string) error {
	e := b.entries[p.index]
	f, err := p.dir.open(p.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(e.Data); err != nil {
		return err
	}
	opts := pfs.CommitOptions{Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest}
	if b.single {
		return finishFile(f, e.Path.Base(), opts, id)
	}
	return setAttributes(f, e.Path.Base(), opts, id)
}

func (b *batch) refund(p pendingFile) {
	e := b.entries[p.index]
	b.fs.quotas.refund(e.Path, int64(len(e.Data))-p.old, p.files)
}

// publish makes the pending files durable and gives them their names.
func (b *batch) publish(ctx context.Context) {
	const op = "localfs.WriteBatch"
	if len(b.pending) == 0 {
		return
	}
	err := pfs.CheckContext(ctx, op, "")
	if err == nil && !b.single {
		err = b.pending[0].dir.syncDisk()
	}
	for _, p := range b.pending {
		e := b.entries[p.index]
		perr := err
		if perr == nil {
			rename := p.dir.rename
			if e.NoReplace {
				rename = p.dir.renameExclusive
			}
			perr = rename(p.temp, p.dir, e.Path.Base())
		}
		if perr != nil {
			_ = p.dir.unlink(p.temp)
			b.refund(p)
			b.errs[p.index] = fail(op, e.Path, perr)
			continue
		}
		b.touched[e.Path.Parent()] = p.dir
	}
	b.pending = nil
	clear(b.names)
}

// syncNames makes the new names durable. If that fails nothing is sure: every entry
// that was done is told so.
func (b *batch) syncNames() {
	var err error
	all := len(b.touched) > few
	for _, d := range b.touched {
		if all {
			err = d.syncDisk()
			break
		}
		if err = d.sync(); err != nil {
			break
		}
	}
	if err == nil {
		return
	}
	for i := range b.errs {
		if b.errs[i] == nil {
			b.errs[i] = fail("localfs.WriteBatch", b.entries[i].Path, err)
		}
	}
}
