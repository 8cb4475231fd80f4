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
	if err := d.open(ctx); err != nil {
		fail(err)
		return
	}
	r.root(d)
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
		parent, err := ResolveLink(ctx, e.FS, e.Path.Parent())
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
	to, err := ResolveLink(ctx, e.FS, e.Path)
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
