package web

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// frame is what the layout shows; the data of each page embeds it.
type frame struct {
	Title, User, CSRF, Section, Assets string
	HasJobs                            bool
}

// frame returns the layout of a page for visitors who are not logged in.
func (x *Web) frame(title string) frame { return frame{Title: title, Assets: x.assets} }

// frame returns the layout of a page of the explorer.
func (v *visit) frame(x *Web, title string) frame {
	return frame{Title: title, User: v.session.User().Name, CSRF: v.csrf, Section: "files", Assets: x.assets, HasJobs: len(x.cfg.Jobs.Datacenters) > 0}
}

// functions are what the templates call.
var functions = template.FuncMap{"url": address, "shown": shown}

// address returns the address of a page about name, such as "files".
func address(page string, name pfs.Path) string {
	u := url.URL{Path: "/ui/" + page + string(name)}
	return u.EscapedPath()
}

// shown returns name as a page shows it: characters that are invisible or change the direction of the text are escaped.
func shown(name any) string {
	var s string
	switch n := name.(type) {
	case string:
		s = n
	case pfs.Path:
		s = string(n)
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether a browser would not show r.
func hidden(r rune) bool { return !unicode.IsPrint(r) || r == '\u115f' || r == '\u3164' }

// render answers a page.
func (x *Web) render(w http.ResponseWriter, status int, name string, data any) {
	b, status := x.make(status, name, data)
	write(w, status, "text/html; charset=utf-8", b)
}

// make makes a whole page, so that an error is no half page.
func (x *Web) make(status int, name string, data any) ([]byte, int) {
	var b bytes.Buffer
	if err := x.pages.ExecuteTemplate(&b, name, data); err != nil {
		x.cfg.Logger.Error("page cannot be made", "template", name, "error", err)
		return []byte("The service failed on this page; its log says how."), http.StatusInternalServerError
	}
	return b.Bytes(), status
}

// answer answers a message for the script.
func (x *Web) answer(w http.ResponseWriter, status int, message any) {
	b, err := json.Marshal(message)
	if err != nil {
		x.cfg.Logger.Error("answer cannot be made", "error", err)
	}
	write(w, status, "application/json", b)
}

func write(w http.ResponseWriter, status int, kind string, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pace.Stall))
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // the browser has left
}

// crumb is a directory on the way to a page.
type crumb struct {
	Name string
	Path pfs.Path
	Here bool
}

// trail returns the way from the root to name.
func trail(name pfs.Path) []crumb {
	var crumbs []crumb
	at := pfs.Root
	for elem := range name.Names() {
		at = at.Join(elem)
		crumbs = append(crumbs, crumb{Name: elem, Path: at, Here: at == name})
	}
	return crumbs
}

// size returns n bytes as people read them, in the units of paddlectl.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1024, 0
	for value >= 999.5 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	digits := 0
	if value < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + units[unit:unit+1] + "iB"
}

// grouped returns n with its digits in groups of three.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}
