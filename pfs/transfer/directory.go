package transfer

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// directory is a directory of the source that is being copied. Its walker and each
// unfinished item in it hold it. When the last holder releases it, the target gets its
// time and mode. So only directories with unfinished work are in memory.
type directory struct {
	r              *run
	above          *directory // nil for the root of a pair
	source, target End        // source.Path is free of links
	name           pfs.Path   // the source as the user knows it
	rel            string     // below the root of the pair; "" for the root
	info           pfs.Info   // of the source
	old            pfs.Info   // of the target, if exists
	exists         bool       // the target was there before
	choice         choice
	group          []*item // of its walker, before they go to the comparers

	holds   atomic.Int64
	touched atomic.Bool // something in it was made or replaced
	noRoom  noRoom

	mu      sync.Mutex
	made    bool
	failure error // of making it
}

// hold adds a holder.
func (d *directory) hold() { d.holds.Add(1) }

// release removes a holder. The last one finishes the directory.
func (d *directory) release(ctx context.Context) {
	if d.holds.Add(-1) > 0 {
		return
	}
	d.finish(ctx)
	if d.above != nil {
		d.above.release(ctx)
	}
}

// child returns the directory for the entry it of d. It is held once, by the caller,
// and holds d.
func (d *directory) child(it *item, c choice) *directory {
	d.hold()
	sub := &directory{
		r: d.r, above: d, source: it.source, target: it.target, name: it.name, rel: join(d.rel, it.target.Path.Base()),
		info: it.info, choice: c, old: it.old, exists: it.exists && it.old.IsDir(),
	}
	sub.hold()
	if it.exists && !it.old.IsDir() && !it.old.IsLink() {
		sub.fail(pfs.Errorf("transfer.Copy", sub.target.Path, pfs.NotDir,
			"a file is where the directory %s should be: remove it first", sub.name))
	}
	return sub
}

// checkLoop refuses a link in d that leads to d or to a directory that contains it.
func (d *directory) checkLoop(to, link pfs.Path) error {
	for above := d; above != nil; above = above.above {
		if above.source.Path.Within(to) {
			return pfs.Errorf("transfer.Copy", link, pfs.Symlink, "it leads to %s, which contains it: a loop", to)
		}
	}
	return nil
}

// open creates the root directory of a pair if it does not exist.
func (d *directory) open(ctx context.Context) error {
	if d.exists && !d.old.IsDir() && !d.old.IsLink() {
		return pfs.Errorf("transfer.Copy", d.target.Path, pfs.NotDir, "a file is where the directory %s should be: remove it first", d.name)
	}
	if d.exists = d.exists && d.old.IsDir(); d.exists {
		return nil
	}
	return d.make(ctx)
}

// isThere reports whether the directory exists at the target.
func (d *directory) isThere() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.exists || d.made
}

// fail notes that the directory cannot be made, and reports it.
func (d *directory) fail(err error) {
	d.mu.Lock()
	d.failure = err
	d.mu.Unlock()
	d.r.failDir(d, err)
}

// join appends a name to a path relative to the root of a pair.
func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// mode returns the mode to make the directory with. The owner must be able to fill it.
func (d *directory) mode() fs.FileMode {
	if d.r.j.opts.NewMode {
		return fs.ModeDir | 0o755
	}
	return fs.ModeDir | d.info.Mode.Perm() | 0o700
}

// ensure makes the directory at the target if it was not made before its first entry.
func (d *directory) ensure(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exists || d.made || d.failure != nil {
		return d.failure
	}
	if d.failure = d.above.ensure(ctx); d.failure == nil {
		d.failure = d.make(ctx)
	}
	return d.failure
}

// make makes the directory. The caller holds d.mu, or nothing else has d yet.
func (d *directory) make(ctx context.Context) error {
	err := d.r.j.retry(ctx, d.name, func(ctx context.Context) error { return d.target.FS.Mkdir(ctx, d.target.Path, d.mode().Perm()) })
	if err == nil {
		d.wasMade()
	}
	return err
}

// wasMade records that the directory exists at the target. If the target follows links, Mkdir
// also succeeds on a link to a directory. Such a directory existed before, and its entries
// are compared.
func (d *directory) wasMade() {
	if d.old.IsLink() {
		d.exists = true
		return
	}
	d.made = true
	if d.above != nil {
		d.above.touched.Store(true)
	}
	d.r.j.count.dirs.Add(1)
	d.r.j.emit(Event{Kind: Directory, Path: d.name, Target: d.target.Path, IsDir: true})
}

// finish sets the time of the source and, if the directory was made, the mode. For a
// directory that existed before, a failure is not an error.
func (d *directory) finish(ctx context.Context) {
	d.mu.Lock()
	made := d.made
	d.mu.Unlock()
	if d.r.j.opts.DryRun || ctx.Err() != nil || !made && !d.exists {
		return
	}
	err := d.setMode(ctx, made)
	if err == nil {
		err = d.setTime(ctx, made)
	}
	if made && err != nil {
		d.r.failDir(d, err)
	}
}

// setMode takes away the rights that were needed to fill the directory.
func (d *directory) setMode(ctx context.Context, made bool) error {
	perm := d.info.Mode.Perm()
	if !made || d.r.j.opts.NewMode || perm == d.mode().Perm() {
		return nil
	}
	return d.r.j.setAttr(ctx, d.name, d.target, pfs.AttrMode, pfs.Attrs{Mode: perm})
}

// setTime gives the target the time of the source, unless nothing in the target changed and it has that
// time.
func (d *directory) setTime(ctx context.Context, made bool) error {
	same := !made && !d.touched.Load() && sameTime(d.old.ModTime, d.info.ModTime)
	if same || d.r.j.opts.NewTime {
		return nil
	}
	return d.r.j.setAttr(ctx, d.name, d.target, pfs.AttrModTime, pfs.Attrs{ModTime: d.info.ModTime})
}
