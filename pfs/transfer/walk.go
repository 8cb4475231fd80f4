package transfer

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// walk finds everything of a pair and sends it on its way.
func (r *run) walk(ctx context.Context, p Pair, walkers *sync.WaitGroup) {
	name := p.Source.Path
	fail := func(err error) { r.fail(Event{Path: name, Target: p.Target.Path, Err: err}) }
	source, info, err := r.j.root(ctx, p.Source)
	if err == nil {
		err = r.j.checkApart(source, p.Target, info.IsDir())
	}
	if err != nil {
		fail(err)
		return
	}
	old, exists, err := r.j.lookAt(ctx, p.Target)
	if err == nil && !exists {
		err = r.makeParents(ctx, p.Target)
	}
	if err != nil {
		fail(err)
		return
	}
	if !info.IsDir() {
		r.found(ctx, &item{source: source, target: p.Target, name: name, info: info, old: old, exists: exists})
		return
	}
	d := &directory{r: r, source: source, target: p.Target, name: name, info: info, old: old, exists: exists, choice: r.j.filter.root}
	d.hold()
	r.root(d)
	if err := d.open(ctx); err != nil {
		d.release(ctx)
		fail(err)
		return
	}
	r.walkDir(ctx, d, walkers)
}

// root notes the root of a tree.
func (r *run) root(d *directory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roots = append(r.roots, d)
}

// makeParents makes the directories above a target if that is asked for.
func (r *run) makeParents(ctx context.Context, target End) error {
	if !r.j.opts.Parents || r.j.opts.DryRun {
		return nil
	}
	above := End{target.FS, target.Path.Parent()}
	r.mu.Lock()
	known := r.parent.Path == above.Path && sameFS(r.parent.FS, above.FS)
	r.mu.Unlock()
	if known {
		return nil
	}
	err := r.j.retry(ctx, target.Path, func() error { return pfs.MkdirAll(ctx, above.FS, above.Path, 0o755) })
	if err == nil {
		r.mu.Lock()
		r.parent = above
		r.mu.Unlock()
	}
	return err
}

// root describes the source of a pair and returns its path without links, as far as
// Options.Links has them followed. Links above the source are followed always: they
// are the user's way to it.
func (j *Job) root(ctx context.Context, e End) (End, pfs.Info, error) {
	info, err := j.stat(ctx, e)
	if errors.Is(err, pfs.Symlink) {
		parent, err := j.opts.Resolve(ctx, e.FS, e.Path.Parent())
		if err != nil {
			return e, info, err
		}
		e.Path = parent.Join(e.Path.Base())
		if info, err = j.stat(ctx, e); err != nil {
			return e, info, err
		}
	} else if err != nil {
		return e, info, err
	}
	if info.IsLink() && j.opts.Links == Follow {
		return j.follow(ctx, e)
	}
	return e, info, nil
}

// follow returns what the link e leads to.
func (j *Job) follow(ctx context.Context, e End) (End, pfs.Info, error) {
	to, err := j.opts.Resolve(ctx, e.FS, e.Path)
	if err != nil {
		return e, pfs.Info{}, err
	}
	e.Path = to
	info, err := j.stat(ctx, e)
	if err == nil && info.IsLink() {
		err = pfs.Errorf("transfer.Follow", e.Path, pfs.Symlink, "it is still a link")
	}
	return e, info, err
}

func (j *Job) stat(ctx context.Context, e End) (info pfs.Info, err error) {
	err = j.retry(ctx, e.Path, func() error {
		info, err = e.FS.Stat(ctx, e.Path)
		return err
	})
	return info, err
}

// lookAt describes what is at the target of a pair, if anything.
func (j *Job) lookAt(ctx context.Context, e End) (info pfs.Info, exists bool, err error) {
	info, err = j.stat(ctx, e)
	if errors.Is(err, pfs.NotExist) {
		return info, false, nil
	}
	return info, err == nil, err
}

// checkApart refuses copies of something into itself.
func (j *Job) checkApart(source, target End, isDir bool) error {
	const op = "transfer.Copy"
	if !sameFS(source.FS, target.FS) {
		return nil
	}
	switch {
	case source.Path == target.Path:
		return pfs.Errorf(op, target.Path, pfs.Invalid, "source and target are the same")
	case isDir && target.Path.Within(source.Path):
		return pfs.Errorf(op, target.Path, pfs.Invalid, "it is inside the source %s: choose a target outside", source.Path)
	case isDir && j.opts.Delete && source.Path.Within(target.Path):
		return pfs.Errorf(op, target.Path, pfs.Invalid, "the source %s is inside it and would be deleted: choose another target", source.Path)
	}
	return nil
}

// walkDir finds everything below d, which it releases. Subdirectories are walked by
// other goroutines as long as there may be more, and else by this one, so that the
// walk holds a window for each walker and the names of one window for each level.
func (r *run) walkDir(ctx context.Context, d *directory, walkers *sync.WaitGroup) {
	defer d.release(ctx)
	w := &windows{
		a:       &listing{j: r.j, end: d.source, name: d.name},
		names:   r.names,
		unnamed: func(quoted string) { r.unnamed(d, quoted) },
	}
	if d.exists {
		w.b = &d.target
	}
	for ctx.Err() == nil {
		entries, err := w.next(ctx)
		if err != nil {
			w.drop()
			r.failDir(d, err)
			return
		}
		if entries == nil {
			return
		}
		subs := r.sort(ctx, d, entries)
		w.drop()
		r.makeDirs(ctx, subs)
		for _, sub := range subs {
			r.descend(ctx, sub, walkers)
		}
	}
}

// descend walks a directory here or in a goroutine of its own.
func (r *run) descend(ctx context.Context, d *directory, walkers *sync.WaitGroup) {
	if d.failure != nil || ctx.Err() != nil {
		d.release(ctx)
		return
	}
	r.spread(walkers, func() { r.walkDir(ctx, d, walkers) })
}

// spread calls do in a goroutine of its own if there may be one more, and else here.
func (r *run) spread(walkers *sync.WaitGroup, do func()) {
	if !r.walkers.TryAcquire(1) {
		do()
		return
	}
	walkers.Go(func() {
		defer r.walkers.Release(1)
		do()
	})
}

func (r *run) unnamed(d *directory, quoted string) {
	r.failDir(d, pfs.Errorf("transfer.Copy", d.name, pfs.Invalid, "entry %s cannot be named here: rename it", quoted))
}

// sort sends the files and links of a window on their way and returns its
// directories.
func (r *run) sort(ctx context.Context, d *directory, entries []entry) (subs []*directory) {
	for _, e := range entries {
		if ctx.Err() != nil {
			return subs
		}
		if sub := r.entry(ctx, d, e); sub != nil {
			subs = append(subs, sub)
		}
	}
	return subs
}

// entry sends an entry of d on its way, or returns the directory that it is.
func (r *run) entry(ctx context.Context, d *directory, e entry) *directory {
	it := &item{
		source: End{d.source.FS, d.source.Path.Join(e.info.Name)},
		target: End{d.target.FS, d.target.Path.Join(e.info.Name)},
		name:   d.name.Join(e.info.Name),
		info:   e.info, old: e.old, exists: e.exists, dir: d,
	}
	rel := join(d.rel, e.info.Name)
	if e.info.IsLink() && r.j.opts.Links == Follow && r.j.filter.choose(d.choice, rel, false) != excluded {
		to, info, err := r.j.follow(ctx, it.source)
		if err == nil && info.IsDir() {
			err = d.checkLoop(to.Path, it.name)
		}
		if err != nil {
			r.failItem(it, err)
			return nil
		}
		it.source, it.info = to, info
		it.info.Name = e.info.Name
	}
	c := r.j.filter.choose(d.choice, rel, it.info.IsDir())
	switch {
	case c == excluded:
	case it.info.IsDir():
		return d.child(it, c)
	case c == taken:
		d.hold()
		r.found(ctx, it)
	}
	return nil
}

// found takes what is no directory.
func (r *run) found(ctx context.Context, it *item) {
	switch {
	case it.info.IsLink() && r.j.opts.Links == SkipLinks:
		r.omitted(it.name, it.target.Path, Link)
		r.release(ctx, it)
	case !it.info.IsLink() && !it.info.IsRegular():
		r.omitted(it.name, it.target.Path, Special)
		r.release(ctx, it)
	default:
		r.take(ctx, it)
	}
}

// makeDirs makes the directories that are not there, all in one request where the
// target can do that. Those that are only open wait until something goes into them.
func (r *run) makeDirs(ctx context.Context, subs []*directory) {
	var missing []*directory
	for _, d := range subs {
		if d.failure == nil && d.choice == taken && !d.isThere() {
			missing = append(missing, d)
		}
	}
	if len(missing) == 0 {
		return
	}
	if above := missing[0].above; above != nil {
		if err := above.ensure(ctx); err != nil {
			for _, d := range missing {
				d.fail(err)
			}
			return
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), mostEntries)
		r.makeBatch(ctx, missing[:n])
		missing = missing[n:]
	}
}

// makeBatch makes directories of one parent.
func (r *run) makeBatch(ctx context.Context, dirs []*directory) {
	if r.j.opts.DryRun {
		for _, d := range dirs {
			d.wasMade()
		}
		return
	}
	todo := dirs
	err := r.j.retry(ctx, dirs[0].name, func() error {
		entries := make([]pfs.BatchEntry, len(todo))
		for i, d := range todo {
			entries[i] = pfs.BatchEntry{Path: d.target.Path, Mode: d.mode()}
		}
		var left []*directory
		var first error
		for i, err := range pfs.WriteBatch(ctx, todo[0].target.FS, entries) {
			d, kind := todo[i], pfs.KindOf(err)
			switch {
			case err == nil:
				d.wasMade()
			case kind.Temporary():
				left, first = append(left, d), err
			default:
				d.fail(err)
			}
		}
		todo = left
		return first
	})
	for _, d := range todo {
		d.fail(err)
	}
}
