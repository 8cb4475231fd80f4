package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// Links are the share links of users; auth.Service has them.
type Links interface {
	MakeLink(ctx context.Context, g auth.Grant, name pfs.Path, life time.Duration) (auth.Link, error)
	Links(ctx context.Context, user string) ([]auth.Link, error)
	RevokeLink(ctx context.Context, user, id string) (auth.Link, error)
	OpenLink(ctx context.Context, token string) (auth.Link, auth.Grant, error)
}

// lives are the lives that a form offers, in days.
var lives = []int{1, 7, 30, 90}

// sharePage is the data of the template "share": the links of a user, and the form for a new one if there is a path.
type sharePage struct {
	frame
	Path  pfs.Path
	Trail []crumb
	Lives []int
	Made  string // the address of a link that was just made
	Links []sharedLink
}

// sharedLink is a link on the page of its user.
type sharedLink struct {
	auth.Link
	Address string
}

// share shows the form for a link to name, and the user's links.
func (x *Web) share(v *visit, name pfs.Path) error { return x.sharePage(v, name, "") }

func (x *Web) sharePage(v *visit, name pfs.Path, made string) error {
	p := sharePage{frame: v.frame(x, "Links"), Path: name, Trail: trail(name), Lives: lives, Made: made}
	p.Section = "links"
	links, err := x.cfg.Links.Links(v.Context(), v.session.User().Name)
	if err != nil {
		return err
	}
	for _, l := range links {
		p.Links = append(p.Links, sharedLink{l, v.linkAddress(l)})
	}
	x.render(v.w, http.StatusOK, "share", p)
	return nil
}

// linkAddress returns the address of a link as other people use it.
func (v *visit) linkAddress(l auth.Link) string {
	return gateway.Scheme(v.Request) + "://" + v.Host + "/ui/s/" + l.Token
}

// makeLink makes a link to name, which must be there and readable. The link keeps the real path, because links on the way are not
// followed later.
func (x *Web) makeLink(v *visit, name pfs.Path) error {
	days, err := strconv.Atoi(v.PostFormValue("days"))
	if err != nil || days < 1 {
		return pfs.Errorf("web.makeLink", name, pfs.Invalid, "choose how long the link lasts")
	}
	err = v.session.Do(v.Context(), "stat", func(ctx context.Context) error {
		fsys := v.session.FS()
		found, info, err := linkfs.Resolve(ctx, fsys, name)
		if err != nil {
			return err
		}
		name, ctx = found, linkfs.WithoutLinks(ctx)
		if info.IsDir() {
			return pfs.CheckAccess(ctx, fsys, pfs.ListDir, name)
		}
		if !info.IsRegular() {
			return pfs.Errorf("web.makeLink", name, pfs.Invalid, "neither a file nor a folder: if it is a symbolic link, share what it leads to")
		}
		return pfs.CheckAccess(ctx, fsys, pfs.Read, name)
	})
	if err != nil {
		return err
	}
	l, err := x.cfg.Links.MakeLink(v.Context(), v.grant, name, time.Duration(days)*24*time.Hour)
	v.session.Audit(v.Context(), "share", err, "path", name, "link", l.ID, "expires", l.Expires)
	if err != nil {
		return err
	}
	return x.sharePage(v, name, v.linkAddress(l))
}

// revokeLink ends a link of the user.
func (x *Web) revokeLink(v *visit, name pfs.Path) error {
	l, err := x.cfg.Links.RevokeLink(v.Context(), v.session.User().Name, v.PostFormValue("link"))
	v.session.Audit(v.Context(), "unshare", err, "path", l.Path, "link", l.ID)
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, address("share", name), http.StatusSeeOther)
	return nil
}

// sharedPage is the data of the template "shared", which everybody who has the link sees.
type sharedPage struct {
	frame
	Name, Size, Address string
	Folder              bool
	Expires             time.Time
}

// shared serves a link: its page, or the file or folder. The owner of the link need not be logged in, so the session is one of the
// owner's that the link begins; nothing else than the path of the link is read in it. It follows no symbolic links: whoever
// may change a directory on the path, or one that is shared, could lead it to other files of the owner.
func (x *Web) shared(w http.ResponseWriter, r *http.Request) {
	if err := x.followLink(w, r); err != nil {
		if errors.Is(err, errCut) {
			panic(http.ErrAbortHandler)
		}
		if k := pfs.KindOf(err); k != pfs.Limit && k != pfs.Unavailable {
			// What is missing, and what the owner may no longer read, has the answer of a link that was revoked.
			err = pfs.Errorf("web.shared", "", pfs.NotExist, "this link is not valid, has expired, or was revoked")
		}
		x.fail(w, r, err)
	}
}

func (x *Web) followLink(w http.ResponseWriter, r *http.Request) error {
	l, grant, err := x.cfg.Links.OpenLink(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	r = r.WithContext(linkfs.WithoutLinks(r.Context()))
	v := &visit{Request: r, w: w, grant: grant, shared: true}
	if v.session, err = x.cfg.Open(r.Context(), grant, r.RemoteAddr); err != nil {
		return err
	}
	defer v.session.Close()
	var info pfs.Info
	err = v.session.Do(r.Context(), "stat", func(ctx context.Context) (err error) {
		info, err = v.session.FS().Stat(ctx, l.Path)
		return err
	})
	if err != nil {
		return err
	}
	if !strings.HasSuffix(r.URL.Path, "/download") {
		p := sharedPage{frame: x.frame(l.Path.Base()), Name: l.Path.Base(), Address: r.URL.Path + "/download", Folder: info.IsDir(), Expires: l.Expires}
		if !p.Folder {
			p.Size = size(info.Size)
		}
		x.render(w, http.StatusOK, "shared", p)
		return nil
	}
	switch {
	case info.IsDir():
		err = x.zip(v, l.Path)
	case info.IsRegular():
		err = x.raw(v, l.Path)
	default:
		err = pfs.E("web.shared", l.Path, pfs.Symlink, nil)
	}
	v.session.Audit(r.Context(), "shared-read", err, "path", l.Path, "link", l.ID)
	return err
}
