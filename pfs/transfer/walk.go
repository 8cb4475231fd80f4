package transfer

import (
	"cmp"
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// walkPair finds all files of a pair and hands them to the stages of the job.
func (r *run) walkPair(ctx context.Context, p Pair, walkers *sync.WaitGroup) {
	name := p.Source.Path
	fail := func(err error) { r.fail(Event{Path: name, Target: p.Target.Path, Err: err}) }
	source, info, err := r.j.resolveSource(ctx, p.Source)
	if err == nil {
		err = r.j.checkApart(ctx, source, p.Target, info.IsDir())
	}
	if err != nil {
		fail(err)
		return
	}
	if r.j.opts.DryRun {
		p.Target.FS = rehearse(p.Target.FS)
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
	if r.j.opts.Delete && exists && old.IsDir() {
		err = r.checkDelete(ctx, d)
	}
	d.hold()
	if err == nil {
		err = d.open(ctx)
	}
	if err != nil {
		fail(err)
		return
	}
	r.addRoot(d)
	r.walkDir(ctx, d, walkers)
}

// addRoot notes the root of a tree.
func (r *run) addRoot(d *directory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roots = append(r.roots, d)
}

// makeParents creates the directories above a target if Options ask for it.
func (r *run) makeParents(ctx context.Context, target End) error {
	if !r.j.opts.Parents {
		return nil
	}
	above := End{target.FS, target.Path.Parent()}
	r.mu.Lock()
	known := r.parent.Path == above.Path && sameFS(r.parent.FS, above.FS)
	r.mu.Unlock()
	if known {
		return nil
	}
	err := r.j.retry(ctx, target.Path, func(ctx context.Context) error { return pfs.MkdirAll(ctx, above.FS, above.Path, 0o755) })
	if err == nil {
		r.mu.Lock()
		r.parent = above
		r.mu.Unlock()
	}
	return err
}

// walkDir walks everything below d and releases d. Subdirectories are walked by other
// goroutines while more are allowed, and else by this one. So memory is one window for
// each walker, and the subdirectories of one window for each level.
func (r *run) walkDir(ctx context.Context, d *directory, walkers *sync.WaitGroup) {
	defer d.release(ctx)
	m := &dirMatcher{
		a:       &listing{j: r.j, end: d.source, name: d.name},
		names:   r.names,
		room:    r.besides,
		unnamed: func(quoted string) { r.unnamed(d, quoted) },
	}
	defer m.end()
	if d.exists {
		m.b, m.a.digests = &d.target, r.j.opts.comparesDigests()
	}
	for ctx.Err() == nil {
		entries, err := m.next(ctx)
		if err != nil {
			r.failDir(d, err)
			return
		}
		if entries == nil {
			return
		}
		subs := r.sort(ctx, d, entries)
		m.drop()
		r.makeDirs(ctx, subs)
		for _, sub := range subs {
			r.descend(ctx, sub, walkers)
		}
	}
}

// descend walks a directory, in a new goroutine if one is available.
func (r *run) descend(ctx context.Context, d *directory, walkers *sync.WaitGroup) {
	if d.failure != nil || ctx.Err() != nil {
		d.release(ctx)
		return
	}
	r.spread(walkers, d.name, d.target.Path, func() { r.walkDir(ctx, d, walkers) })
}

// spread calls do, in a new goroutine if one is available.
func (r *run) spread(walkers *sync.WaitGroup, name, target pfs.Path, do func()) {
	if !r.walkers.TryAcquire(1) {
		r.guard(name, target, do)
		return
	}
	walkers.Go(func() {
		defer r.walkers.Release(1)
		r.guard(name, target, do)
	})
}

func (r *run) unnamed(d *directory, quoted string) {
	r.failDir(d, newNameError("transfer.Copy", d.name, quoted))
}

// sort hands the files and links of a window to the next stage and returns its
// directories.
func (r *run) sort(ctx context.Context, d *directory, entries []entry) (subs []*directory) {
	defer r.compareGroup(ctx, d)
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

// entry hands an entry of d to the next stage, or returns the directory that it is.
func (r *run) entry(ctx context.Context, d *directory, e entry) *directory {
	it := &item{
		source: End{d.source.FS, d.source.Path.Join(e.info.Name)},
		target: End{d.target.FS, d.target.Path.Join(e.info.Name)},
		info:   e.info, old: e.old, exists: e.exists, dir: d,
	}
	if it.name = it.source.Path; d.name != d.source.Path {
		it.name = d.name.Join(e.info.Name)
	}
	rel := ""
	if r.j.filter.active() {
		rel = join(d.rel, e.info.Name)
	}
	if e.info.IsLink() && r.j.opts.Links == Follow && r.j.filter.choose(d.choice, rel, false) != excluded {
		to, info, err := r.j.follow(ctx, it.source)
		if err == nil && info.IsDir() {
			err = cmp.Or(d.checkLoop(to.Path, it.name), r.j.checkApart(ctx, to, it.target, true))
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

// found handles a file, a link or a special file.
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
