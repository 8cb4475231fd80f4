package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// folderMode are the permission bits of new folders.
const folderMode = 0o755

// mkdir makes a folder in dir.
func (x *Web) mkdir(v *visit, dir pfs.Path) error {
	name, err := pfs.ParsePath(string(dir.Join(v.PostForm.Get("name"))))
	if err == nil && name.Parent() != dir {
		err = pfs.Errorf("web.mkdir", dir, pfs.Invalid, "the name of a folder contains no slash")
	}
	if err != nil {
		return err
	}
	err = v.session.Change(v.Context(), "mkdir", func(ctx context.Context) error {
		return gateway.MakeDir(ctx, v.session.FS(), name, folderMode)
	}, "path", name)
	if err != nil {
		return err
	}
	return v.redirect(address("files", dir))
}

// renamePage is the data of the template "rename".
type renamePage struct {
	frame
	Path, Parent pfs.Path
	Trail        []crumb
	Message, To  string
}

func (x *Web) renamePage(v *visit, name pfs.Path) error {
	x.showRename(v, name, name.Base(), http.StatusOK, "")
	return nil
}

func (x *Web) showRename(v *visit, name pfs.Path, to string, status int, message string) {
	x.render(v.w, status, "rename", renamePage{
		frame: v.frame(x, "Rename "+shown(name.Base())), Path: name, Parent: name.Parent(), Trail: trail(name), Message: message, To: to,
	})
}

// rename gives a file or folder another name, in its folder or, for a path, elsewhere. It replaces nothing. What can
// be corrected is shown in the form.
func (x *Web) rename(v *visit, name pfs.Path) error {
	text := v.PostForm.Get("to")
	to := text
	if !strings.HasPrefix(to, "/") {
		to = string(name.Parent().Join(to))
	}
	target, err := pfs.ParsePath(to)
	if err == nil {
		err = v.session.Change(v.Context(), "rename", func(ctx context.Context) error {
			return gateway.RenameNew(ctx, v.session.FS(), name, target)
		}, "path", name, "to", target)
	}
	if err == nil {
		return v.redirect(address("files", target.Parent()))
	}
	if kind := pfs.KindOf(err); errors.Is(err, pfs.Unauthenticated) || kind.Temporary() {
		return err
	} else {
		x.showRename(v, name, text, wire.StatusOf(kind), textOf(err))
	}
	return nil
}

// deletePage is the data of the template "delete".
type deletePage struct {
	frame
	Path  pfs.Path
	Trail []crumb
	Names []string
}

// delete removes the entries of dir that the form names, after a page that asks. No store has a trash, so the page
// says that there is no undo.
func (x *Web) delete(v *visit, dir pfs.Path) error {
	names, err := v.names(dir)
	if err != nil {
		return err
	}
	if v.PostForm.Get("confirm") != "yes" {
		x.render(v.w, http.StatusOK, "delete", deletePage{frame: v.frame(x, "Delete"), Path: dir, Trail: trail(dir), Names: names})
		return nil
	}
	for _, n := range names {
		name := dir.Join(n)
		err := v.session.Change(v.Context(), "remove-tree", func(ctx context.Context) error {
			return pfs.RemoveTree(ctx, v.session.FS(), name)
		}, "path", name)
		if err != nil && !errors.Is(err, pfs.NotExist) { // gone is what was wanted
			return err
		}
	}
	return v.redirect(address("files", dir))
}
