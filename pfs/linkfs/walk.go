package linkfs

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// walk follows the links of one path.
type walk struct {
	fsys  pfs.FileSystem
	name  pfs.Path // as the caller wrote it: the path of every error
	links int      // followed so far
	to    pfs.Path // where the last one leads
}

// follow returns the path at, which is at or below link, with the link replaced by its target. No
// parent of link is a link, so its parent is a real directory.
func (w *walk) follow(ctx context.Context, link, at pfs.Path) (pfs.Path, error) {
	if w.links++; w.links > MaxLinks {
		return "", pfs.Errorf("linkfs.Follow", w.name, pfs.Symlink,
			"more than %d links on the path, probably a loop: check the target of %s", MaxLinks, link)
	}
	info, err := w.fsys.Stat(ctx, link)
	if err != nil {
		return "", w.blame(err)
	}
	if !info.IsLink() {
		return at, nil // replaced in the meantime: try again
	}
	to, err := w.target(ctx, link.Parent(), info.Target)
	if err != nil {
		return "", err
	}
	w.to = to
	to = at.Rebase(link, to)
	if err := pfs.CheckPath("linkfs.Follow", to); err != nil {
		return "", w.blame(err)
	}
	return to, nil
}

// target returns the path that the target of a link in the real directory dir names. It may
// contain links, which the caller meets when it uses the path.
func (w *walk) target(ctx context.Context, dir pfs.Path, target string) (pfs.Path, error) {
	at, isReal := dir, true
	if strings.HasPrefix(target, "/") {
		at = pfs.Root
	}
	if target == "" {
		return "", pfs.Errorf("linkfs.Follow", w.name, pfs.Invalid, "a link on the way has an empty target")
	}
	for elem := range strings.SplitSeq(target, "/") {
		switch elem {
		case "", ".":
			continue
		case "..":
			// The parent of a link's target is not the parent of the link.
			if !isReal {
				var err error
				if at, err = w.directory(ctx, at); err != nil {
					return "", err
				}
			}
			at, isReal = at.Parent(), true
			continue
		}
		if reason := pfs.CheckName(elem); reason != "" {
			return "", pfs.Errorf("linkfs.Follow", w.name, pfs.Invalid, "a link on the way has an invalid target: %s", reason)
		}
		at, isReal = at.Join(elem), false
	}
	return at, nil
}

// directory returns the real directory that at leads to.
func (w *walk) directory(ctx context.Context, at pfs.Path) (pfs.Path, error) {
	at, info, err := w.resolve(ctx, at, true)
	if err == nil && !info.IsDir() {
		err = pfs.E("linkfs.Follow", w.name, pfs.NotDir, nil)
	}
	return at, err
}

// resolve follows every link of at, including the last element if last is true.
func (w *walk) resolve(ctx context.Context, at pfs.Path, last bool) (pfs.Path, pfs.Info, error) {
	for {
		info, err := w.fsys.Stat(ctx, at)
		link, met := linkIn(err, at)
		switch {
		case met:
		case err != nil:
			return "", pfs.Info{}, w.blame(err)
		case !last || !info.IsLink():
			return at, info, nil
		default:
			link = at
		}
		if at, err = w.follow(ctx, link, at); err != nil {
			return "", pfs.Info{}, err
		}
	}
}

// translate puts the caller's path into errors about directories above the target of the last link,
// since these directories do not appear in that path. The Layer renames all others.
func (w *walk) translate(err error) error {
	var e *pfs.Error
	if w.links == 0 || !errors.As(err, &e) || e.Path == "" {
		return err
	}
	if w.to.Within(e.Path) && w.to != e.Path && !w.name.Within(e.Path) {
		return w.blame(err)
	}
	return err
}

// blame gives an error that occurred on the way the path that the caller wrote, so that it does
// not reveal where a link leads.
func (w *walk) blame(err error) error {
	var e *pfs.Error
	if !errors.As(err, &e) {
		return pfs.E("linkfs.Follow", w.name, pfs.KindOf(err), err)
	}
	return &pfs.Error{Op: e.Op, Path: w.name, Kind: e.Kind, Err: e.Err}
}
