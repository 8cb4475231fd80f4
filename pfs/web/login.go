package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// loginForm is the data of the template "login".
type loginForm struct {
	frame
	Message, Name, Next string
}

func (x *Web) loginPage(w http.ResponseWriter, r *http.Request) {
	x.render(w, http.StatusOK, "login", loginForm{frame: x.frame("Log in"), Next: next(r.FormValue("next"))})
}

// login begins a session. A refused login shows the form again.
func (x *Web) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, wire.MaxRequest)
	user, password, then := r.PostFormValue("user"), r.PostFormValue("password"), next(r.PostFormValue("next"))
	var t wire.Tokens
	err := checkOrigin(r)
	if err == nil {
		err = x.call(r, wire.PathLogin, "", wire.Credentials{User: user, Password: password}, &t)
	}
	if err != nil {
		f := loginForm{frame: x.frame("Log in"), Message: textOf(err), Name: user, Next: then}
		if errors.Is(err, pfs.Unauthenticated) {
			f.Message = "The user or the password is wrong."
		}
		x.render(w, wire.StatusOf(pfs.KindOf(err)), "login", f)
		return
	}
	setCookie(w, accessCookie, t.Access, t.Expires.Time())
	setCookie(w, refreshCookie, t.Refresh, t.RefreshExpires.Time())
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// logout ends the session at the service and in the browser.
func (x *Web) logout(v *visit, _ pfs.Path) error {
	err := x.call(v.Request, wire.PathLogout, "", wire.RefreshRequest{Refresh: v.refresh}, &wire.Empty{})
	if err != nil {
		return err
	}
	setCookie(v.w, accessCookie, "", time.Time{})
	setCookie(v.w, refreshCookie, "", time.Time{})
	v.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return v.redirect("/ui/login")
}

// next returns the address of a page to show after the login: only one of these pages.
func next(address string) string {
	if !strings.HasPrefix(address, "/ui/") || strings.HasPrefix(address, "/ui/log") || strings.Contains(address, "/..") || strings.ContainsAny(address, "\\\r\n\t") {
		return "/ui/"
	}
	return address
}

// redirect sends the browser to another page.
func (v *visit) redirect(address string) error {
	http.Redirect(v.w, v.Request, address, http.StatusSeeOther)
	return nil
}

func (x *Web) home(v *visit, _ pfs.Path) error {
	return v.redirect(address("files", x.cfg.Home(v.session.User().Name)))
}
