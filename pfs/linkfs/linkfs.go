// Package linkfs follows symbolic links, which no store does.
//
// It belongs above the permission check: every path that a link leads to goes
// down through the same checked file system as the path that the caller wrote, so
// a link reaches nothing that its reader could not have named.
package linkfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// MaxLinks is the largest number of links followed for one path.
const MaxLinks = 40

// New returns fsys with its links followed, in the middle of every path and, for
// the operations that need what a link leads to, at its end: Open, List, Edit,
// Chmod, Chtime, Digest, Usage, Space, SetQuota, Sweep and the source of CopyFile.
// The others are about the link itself: Stat describes it, Remove, RemoveTree and
// Rename take it, Create and the targets of Rename and CopyFile replace it.
//
// Targets are paths of fsys: an absolute one counts from its root, a relative one
// from the directory that the link is in. ".." means the parent in that tree, and
// at the root the root. Errors carry the path that the caller wrote. More than
// MaxLinks links for one path answer Symlink.
func New(fsys pfs.FileSystem) pfs.FileSystem {
	f := &follower{fsys: fsys}
	f.Layer = pfs.NewLayer(f.through)
	f.ends = pfs.NewLayer(f.throughEnd)
	return f
}

// follower is a Layer that calls again wherever a link leads.
type follower struct {
	*pfs.Layer
	ends *pfs.Layer // for what a store can do on a link itself, but must not
	fsys pfs.FileSystem
}

var (
	_ pfs.UsageReporter = (*follower)(nil)
	_ pfs.SpaceReporter = (*follower)(nil)
)

// through tries the path as it is, and as long as the store meets a link in it,
// the path with that link replaced.
func (f *follower) through(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
	w := walk{fsys: f.fsys, name: name}
	at := name
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

// keepsLast reports whether a is about a link at the end of its path and not
// about what that leads to.
func keepsLast(a pfs.Access) bool { return a == pfs.Make || a == pfs.Delete }

// linkIn returns the link that err says is at or above the path at.
func linkIn(err error, at pfs.Path) (link pfs.Path, ok bool) {
	var e *pfs.Error
	if !errors.As(err, &e) || e.Kind != pfs.Symlink || e.Path == "" {
		return "", false
	}
	return e.Path, at.Within(e.Path)
}

// Usage sums the tree that dir leads to.
func (f *follower) Usage(ctx context.Context, dir pfs.Path) (pfs.Usage, error) {
	return f.ends.Usage(ctx, dir)
}

// Space reports the store that holds what name leads to.
func (f *follower) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	return f.ends.Space(ctx, name)
}

// throughEnd first finds out where the path leads, links at its end included.
func (f *follower) throughEnd(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
	w := walk{fsys: f.fsys, name: name}
	at, _, err := w.resolve(ctx, name)
	if err != nil {
		return err
	}
	return call(summing{f.Layer}, at)
}

// summing is a tree that sums what is below a directory even where the store does
// not: whoever asked would walk from the path that was written, where the link is.
type summing struct{ *pfs.Layer }

func (s summing) Usage(ctx context.Context, dir pfs.Path) (pfs.Usage, error) {
	return pfs.UsageOf(ctx, s.Layer, dir)
}
