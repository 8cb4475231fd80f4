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
func (j *Job) checkApart(source, target End, isDir bool) error {
	const op = "transfer.Copy"
	if t, ok := target.FS.(*rehearsed); ok {
		target.FS = t.below
	}
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
