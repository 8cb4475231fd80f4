package transfer

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// mirror removes from the targets what their sources lack. The trees are listed once
// more for that, so that nothing needs to be remembered from the copying.
func (r *run) mirror(ctx context.Context) {
	if r.j.count.failed.Load() > 0 {
		r.notDeleted = true
		return
	}
	var walkers sync.WaitGroup
	for _, d := range r.roots {
		if d.exists {
			r.mirrorDir(ctx, d, &walkers)
		}
	}
	walkers.Wait()
}

// mirrorDir removes from the target of d what the source lacks, and then does the
// same below.
func (r *run) mirrorDir(ctx context.Context, d *directory, walkers *sync.WaitGroup) {
	removed := false
	err := r.j.extras(ctx, d.source, d.target, func(info pfs.Info) error {
		e := End{d.target.FS, d.target.Path.Join(info.Name)}
		if r.remove(ctx, e, info, d.rel, d.choice) {
			removed = true
		}
		return pfs.CheckContext(ctx, "transfer.Delete", e.Path)
	})
	if removed && !r.j.opts.NewTime && !r.j.opts.DryRun {
		_ = pfs.Chtime(ctx, d.target.FS, d.target.Path, d.info.ModTime) // as far as it can be done
	}
	if err != nil {
		r.failDir(d, err)
		return
	}
	l := listing{j: r.j, end: d.target, name: d.target.Path}
	for {
		page, more, err := l.next(ctx)
		if err != nil {
			r.failDir(d, err)
			return
		}
		if !more {
			return
		}
		for _, info := range page.Entries {
			if sub := r.mirrored(ctx, d, info); sub != nil {
				r.spread(walkers, sub.name, sub.target.Path, func() { r.mirrorDir(ctx, sub, walkers) })
			}
		}
	}
}

// mirrored returns the directory of the source of which the entry old in the target of
// d is a copy; nil if one of them is no directory, or is left out.
func (r *run) mirrored(ctx context.Context, d *directory, old pfs.Info) *directory {
	rel := join(d.rel, old.Name)
	c := r.j.filter.choose(d.choice, rel, true)
	if !old.IsDir() || c == excluded || ctx.Err() != nil {
		return nil
	}
	source := End{d.source.FS, d.source.Path.Join(old.Name)}
	info, err := r.j.stat(ctx, source)
	if err == nil && info.IsLink() && r.j.opts.Links == Follow {
		source, info, err = r.j.follow(ctx, source)
	}
	switch {
	case errors.Is(err, pfs.NotExist): // an entry that Filter protects
		return nil
	case err != nil:
		r.failDir(d, err)
		return nil
	case !info.IsDir():
		return nil
	}
	return &directory{
		r: r, source: source, target: End{d.target.FS, d.target.Path.Join(old.Name)},
		name: d.name.Join(old.Name), rel: rel, info: info, exists: true, choice: c,
	}
}

// remove removes the entry e, which the source lacks, except for what Filter leaves
// out. It reports whether e is gone.
func (r *run) remove(ctx context.Context, e End, info pfs.Info, above string, c choice) bool {
	rel := join(above, info.Name)
	if c = r.j.filter.choose(c, rel, info.IsDir()); c == excluded {
		return false
	}
	if info.IsDir() && r.j.filter.active() {
		if !r.removeBelow(ctx, e, rel, c) {
			return false
		}
	}
	if c != taken || ctx.Err() != nil {
		return false
	}
	if err := r.removeNow(ctx, e, info.IsDir()); err != nil {
		r.fail(Event{Target: e.Path, IsDir: info.IsDir(), Err: err})
		return false
	}
	r.j.count.deleted.Add(1)
	r.j.emit(Event{Kind: Deleted, Target: e.Path, IsDir: info.IsDir(), Size: info.Size})
	return true
}

// removeNow removes e, a directory with all that is in it.
func (r *run) removeNow(ctx context.Context, e End, isDir bool) error {
	if r.j.opts.DryRun {
		return nil
	}
	err := r.j.retry(ctx, e.Path, func() error {
		if isDir && !r.j.filter.active() {
			return pfs.RemoveTree(ctx, e.FS, e.Path)
		}
		return e.FS.Remove(ctx, e.Path)
	})
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// removeBelow removes what is in the directory e, except for what Filter leaves out. It
// reports whether the directory is empty now.
func (r *run) removeBelow(ctx context.Context, e End, rel string, c choice) (empty bool) {
	empty = true
	l := listing{j: r.j, end: e, name: e.Path}
	for {
		page, more, err := l.next(ctx)
		if err != nil {
			r.fail(Event{Target: e.Path, IsDir: true, Err: err})
			return false
		}
		if !more {
			return empty
		}
		for _, info := range page.Entries {
			if !r.remove(ctx, End{e.FS, e.Path.Join(info.Name)}, info, rel, c) {
				empty = false
			}
		}
	}
}
