// Package linkfs follows symbolic links, which no store does.
//
// It belongs above the permission check. Every path that a link leads to passes the same checked
// file system as the path that the caller wrote, so a link reaches nothing that the caller could
// not have named.
package linkfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// MaxLinks is the largest number of links followed for one path.
const MaxLinks = 40

// New returns fsys with its links followed: in the middle of every path and, for the operations
// that need the link's target, at its end. These are Open, OpenHandle, List, SetAttr, extended
// attributes, Digest, Usage, Space, SetQuota, Sweep and the source of CopyFile. The others work on
// the link itself: Stat describes it, Remove, RemoveTree, Rename and HardLink take it, Create and
// the targets of Rename and CopyFile replace it.
//
// Targets are paths of fsys: an absolute one starts at its root, a relative one at the directory
// of the link. ".." is the parent in that tree, and at the root the root. Errors have the path
// that the caller wrote. More than MaxLinks links for one path answer Symlink.
func New(fsys pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(follower{fsys}.through)
}

// follower calls again at the path that a link leads to.
type follower struct{ fsys pfs.FileSystem }

// through tries the path unchanged. While the store finds a link in it, through replaces the link
// and tries again.
func (f follower) through(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
	if ctx.Value(noLinksKey{}) != nil {
		return call(f.fsys, name)
	}
	w := walk{fsys: f.fsys, name: name}
	at := name
	if a == pfs.Measure { // some stores measure the link itself: resolve it first
		at, _, err := w.resolve(ctx, name, true)
		if err != nil {
			return err
		}
		return call(summing{f.fsys}, at)
	}
	for {
		err := call(f.fsys, at)
		link, ok := linkIn(err, at)
		if !ok || link == at && keepsLast(a) {
			return w.translate(err)
		}
		if at, err = w.follow(ctx, link, at); err != nil {
			return err
		}
	}
}

// keepsLast reports whether a works on a link at the end of its path, and not on the link's
// target.
func keepsLast(a pfs.Access) bool { return a == pfs.Make || a == pfs.Delete }

// linkIn returns the link at or above the path at that err names.
func linkIn(err error, at pfs.Path) (link pfs.Path, ok bool) {
	var e *pfs.Error
	if !errors.As(err, &e) || e.Kind != pfs.Symlink || e.Path == "" {
		return "", false
	}
	return e.Path, at.Within(e.Path)
}

// summing has Usage even if the store has not: a caller's walk would begin at the path that was
// written, where the link is.
type summing struct{ pfs.FileSystem }

func (s summing) Usage(ctx context.Context, dir pfs.Path) (pfs.Usage, error) {
	return pfs.UsageOf(ctx, s.FileSystem, dir)
}

func (s summing) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	return pfs.SpaceOf(ctx, s.FileSystem, name)
}

// Stat describes what name leads to: fsys.Stat, but a link at the end is followed, too. fsys is a file system of New.
// Info.Name is the last element of name.
func Stat(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (pfs.Info, error) {
	w := walk{fsys: fsys, name: name}
	_, info, err := w.resolve(ctx, name, true)
	if err == nil {
		info.Name = name.Base()
	}
	return info, err
}

// Nowhere reports whether err, an error of Stat, tells that a link leads to nothing that the caller may see. Other errors tell nothing
// about the link: the store does not answer, or the caller may no longer ask.
func Nowhere(err error) bool {
	switch pfs.KindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.Permission, pfs.Symlink, pfs.Invalid:
		return true
	}
	return false
}

// Resolve returns name with the links above its last element replaced by their targets, and describes it as fsys.Stat
// does. fsys is a file system of New.
func Resolve(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (pfs.Path, pfs.Info, error) {
	w := walk{fsys: fsys, name: name}
	return w.resolve(WithoutLinks(ctx), name, false)
}

// noLinksKey is the key of WithoutLinks.
type noLinksKey struct{}

// WithoutLinks returns a context in which the file systems of New follow no links: a path that has one answers Symlink, as in
// the store. It is for a path that others may have replaced since it was checked.
func WithoutLinks(ctx context.Context) context.Context {
	return context.WithValue(ctx, noLinksKey{}, true)
}
