package transfer

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// maxLinks is the largest number of links followed for one path.
const maxLinks = 40

// ResolveLink returns the path without links to which name leads on fsys. It follows each link
// itself, for stores that follow none. An absolute link starts at the root of fsys; ".." at the
// root is the root. More than maxLinks links return Symlink, a dangling link NotExist.
func ResolveLink(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (pfs.Path, error) {
	const op = "transfer.ResolveLink"
	at, links := pfs.Root, 0
	todo := string(name)
	for todo != "" {
		elem, rest, _ := strings.Cut(todo, "/")
		todo = rest
		switch elem {
		case "", ".":
			continue
		case "..":
			at = at.Parent()
			continue
		}
		if reason := pfs.CheckName(elem); reason != "" {
			return "", pfs.Errorf(op, name, pfs.Invalid, "a link on the path has an illegal target: %s", reason)
		}
		next := at.Join(elem)
		info, err := fsys.Stat(ctx, next)
		if err != nil {
			return "", dangling(op, name, next, err)
		}
		if !info.IsLink() {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", pfs.Errorf(op, name, pfs.Symlink, "more than %d links on the path, probably a loop: check the target of %s", maxLinks, next)
		}
		if strings.HasPrefix(info.Target, "/") {
			at = pfs.Root
		}
		todo = info.Target + "/" + todo
	}
	return at, nil
}

// dangling explains an error at the path at, which is part of resolving name.
func dangling(op string, name, at pfs.Path, err error) error {
	var e *pfs.Error
	switch {
	case at == name || !errors.As(err, &e):
		return err
	case e.Kind == pfs.NotExist:
		return pfs.Errorf(op, name, pfs.NotExist, "it leads to %s, which does not exist", at)
	case name.Within(at) || e.Kind.Temporary() || e.Kind == pfs.Canceled:
		return err
	}
	text := "it leads to " + string(at)
	if cause := e.Cause(); cause != "" {
		text += ": " + cause
	}
	return pfs.Errorf(op, name, e.Kind, "%s", text)
}
