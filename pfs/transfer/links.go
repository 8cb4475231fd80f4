package transfer

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// maxLinks is the largest number of links followed for one path.
const maxLinks = 40

// ResolveLink returns the path without links that name leads to on fsys. It reads
// link by link with Stat, so that it works where the store follows none. An
// absolute link leads from the root of fsys; ".." at the root is the root. More
// than 40 links answer Symlink, and a link that leads nowhere NotExist.
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
			return "", pfs.Errorf(op, name, pfs.Invalid, "a link on the way leads to no legal path: %s", reason)
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
			return "", pfs.Errorf(op, name, pfs.Symlink, "more than %d links on the way, probably a loop: see where %s leads", maxLinks, next)
		}
		if strings.HasPrefix(info.Target, "/") {
			at = pfs.Root
		}
		todo = info.Target + "/" + todo
	}
	return at, nil
}

// dangling explains an error met at the path at, on the way from name.
func dangling(op string, name, at pfs.Path, err error) error {
	var e *pfs.Error
	switch {
	case at == name || !errors.As(err, &e):
		return err
	case e.Kind == pfs.NotExist:
		return pfs.Errorf(op, name, pfs.NotExist, "it leads to %s, which is not there", at)
	case name.Within(at) || e.Kind.Temporary() || e.Kind == pfs.Canceled:
		return err
	}
	text := "it leads to " + string(at)
	if cause := e.Cause(); cause != "" {
		text += ": " + cause
	}
	return pfs.Errorf(op, name, e.Kind, "%s", text)
}
