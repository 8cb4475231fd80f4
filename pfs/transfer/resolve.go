package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// resolveSource returns the source of a pair with its links resolved, and its Info. Links in the
// parents are always followed, a link at the end depending on Options.Links.
func (j *Job) resolveSource(ctx context.Context, e End) (End, pfs.Info, error) {
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

// follow returns the target of the link e.
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
	err = j.retry(ctx, e.Path, func(ctx context.Context) error {
		info, err = e.FS.Stat(ctx, e.Path)
		return err
	})
	return info, err
}

// lookAt returns the Info of the target of a pair, if it exists.
func (j *Job) lookAt(ctx context.Context, e End) (info pfs.Info, exists bool, err error) {
	info, err = j.stat(ctx, e)
	if errors.Is(err, pfs.NotExist) {
		return info, false, nil
	}
	return info, err == nil, err
}

// checkApart refuses copies of something into itself.
func (j *Job) checkApart(ctx context.Context, source, target End, isDir bool) error {
	const op = "transfer.Copy"
	if t, ok := target.FS.(*rehearsed); ok {
		target.FS = t.below
	}
	if !sameFS(source.FS, target.FS) {
		return nil
	}
	from, to := source.Path, target.Path
	if isDir && from != to {
		from, to = j.withoutLinks(ctx, source), j.withoutLinks(ctx, target)
	}
	switch {
	case from == to:
		return pfs.Errorf(op, target.Path, pfs.Invalid, "source and target are the same")
	case isDir && j.isInside(ctx, target.FS, to, from):
		return pfs.Errorf(op, target.Path, pfs.Invalid, "it is inside the source %s: choose a target outside", source.Path)
	case isDir && j.opts.Delete && j.isInside(ctx, source.FS, from, to):
		return pfs.Errorf(op, target.Path, pfs.Invalid, "the source %s is inside it and would be deleted: choose another target", source.Path)
	}
	return nil
}

// withoutLinks returns the path of e without links, which may not exist.
func (j *Job) withoutLinks(ctx context.Context, e End) pfs.Path {
	for at := e.Path; at != pfs.Root; at = at.Parent() {
		var to pfs.Path
		err := j.retry(ctx, at, func(ctx context.Context) (err error) {
			to, err = ResolveLink(ctx, e.FS, at)
			return err
		})
		if err == nil {
			return e.Path.Rebase(at, to)
		}
	}
	return e.Path
}

// isInside reports whether name is below dir, perhaps by another name of dir: a service shows some directories at two
// places. Directories of two stores may have one ID by chance, so their times must be equal, too.
func (j *Job) isInside(ctx context.Context, fsys pfs.FileSystem, name, dir pfs.Path) bool {
	if name.Within(dir) {
		return true
	}
	info, err := j.stat(ctx, End{fsys, dir})
	if err != nil || info.ID == 0 {
		return false
	}
	for above := name.Parent(); !dir.Within(above); above = above.Parent() {
		at, err := j.stat(ctx, End{fsys, above})
		if err == nil && at.ID == info.ID && at.ModTime.Equal(info.ModTime) && at.ChangeTime.Equal(info.ChangeTime) {
			return true
		}
	}
	return false
}
