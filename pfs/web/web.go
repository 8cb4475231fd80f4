package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Config is the configuration of the pages. All fields are required, except Jobs and Logger.
type Config struct {
	Auth gateway.Authenticator
	Open gateway.Open

	// Service serves the protocol of package wire, for logins and for uploads.
	Service http.Handler

	// Home returns the home of a user, where browsing begins.
	Home func(user string) pfs.Path

	// Links are the share links.
	Links Links

	// Jobs is optional.
	Jobs Jobs

	Logger *slog.Logger // default: discard
}

// Web is an http.Handler for the paths below /ui/.
type Web struct {
	cfg      Config
	mux      *http.ServeMux
	pages    *template.Template
	assets   string // changes with the files of static
	archives archives
	previews previews
}

//go:embed static templates
var files embed.FS

// New returns the pages.
func New(cfg Config) *Web {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Web{cfg: cfg, mux: http.NewServeMux(), assets: sumOfAssets(), previews: newPreviews()}
	x.pages = template.Must(template.New("").Funcs(functions).Funcs(ofJobs).ParseFS(files, "templates/*.html"))
	x.routes()
	return x
}

func (x *Web) routes() {
	x.mux.HandleFunc("GET /ui/login", x.loginPage)
	x.mux.HandleFunc("POST /ui/login", x.login)
	x.mux.HandleFunc("GET /ui/static/", x.static)
	x.handle("POST /ui/logout", x.logout)
	x.handle("GET /ui/{$}", x.home)
	x.handle("GET /ui/files/{path...}", x.files)
	x.handle("GET /ui/raw/{path...}", x.raw)
	x.handle("GET /ui/image/{path...}", x.image)
	x.handle("GET /ui/share/{path...}", x.share)
	x.handle("POST /ui/share/{path...}", x.makeLink)
	x.handle("POST /ui/unshare/{path...}", x.revokeLink)
	x.mux.HandleFunc("GET /ui/s/{token}", x.shared)
	x.mux.HandleFunc("GET /ui/s/{token}/download", x.shared)
	x.handle("GET /ui/zip/{path...}", x.zip)
	x.handle("POST /ui/zip/{path...}", x.zip)
	x.handle("GET /ui/usage/{path...}", x.usage)
	x.handle("GET /ui/rename/{path...}", x.renamePage)
	x.handle("POST /ui/rename/{path...}", x.rename)
	x.handle("POST /ui/mkdir/{path...}", x.mkdir)
	x.handle("POST /ui/delete/{path...}", x.delete)
	x.handle("POST /ui/upload/{path...}", x.upload)
	x.handle("POST /ui/send/begin/{path...}", x.sendBegin)
	x.handle("GET /ui/send/leaf/{path...}", x.sendLeaf)
	x.handle("PUT /ui/send/leaf/{path...}", x.sendChunk)
	x.handle("POST /ui/send/commit/{path...}", x.sendCommit)
	x.handle("POST /ui/send/mkdir/{path...}", x.sendMkdir)
	x.handle("POST /ui/send/discard/{path...}", x.sendDiscard)
	if len(x.cfg.Jobs.Datacenters) > 0 {
		x.routesOfJobs()
	}
	x.handle("/ui/", func(_ *visit, _ pfs.Path) error {
		return pfs.Errorf("web.route", "", pfs.NotExist, "there is no such page")
	})
}

func (x *Web) routesOfJobs() {
	x.handle("GET /ui/jobs", x.jobs)
	x.handle("GET /ui/jobs/{$}", x.jobs)
	x.handle("GET /ui/newjob", x.newJobPage)
	x.handle("POST /ui/newjob", x.submitForm)
	x.handle("POST /ui/newjob/file", x.jobFile)
	x.handle("GET /ui/jobs/{dc}/{name}", x.job)
	x.handle("GET /ui/jobs/{dc}/{name}/log", x.jobLog)
	x.handle("GET /ui/jobs/{dc}/{name}/clone", x.newJobPage)
	x.handle("GET /ui/jobs/{dc}/{name}/stop", x.askJob(true))
	x.handle("POST /ui/jobs/{dc}/{name}/stop", x.stopJob)
	x.handle("GET /ui/jobs/{dc}/{name}/delete", x.askJob(false))
	x.handle("POST /ui/jobs/{dc}/{name}/delete", x.deleteJob)
}

// policy is what the pages may load and do: their own files, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP serves one request.
func (x *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	x.mux.ServeHTTP(w, pace.Begin(w, r))
}

// static serves the style, the script and the icons. Their address changes with their content.
func (x *Web) static(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	if b, err := files.ReadFile(name); err != nil || len(b) == 0 {
		x.fail(w, r, pfs.Errorf("web.static", "", pfs.NotExist, "there is no such page"))
		return
	}
	w.Header().Set("Cache-Control", "private, max-age=3600")
	http.ServeFileFS(w, r, files, name)
}

// sumOfAssets names the state of the files of static.
func sumOfAssets() string {
	sum := sha256.New()
	_ = fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := files.ReadFile(name)
			sum.Write(b)
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// fail answers err: a page, or a message for the script.
func (x *Web) fail(w http.ResponseWriter, r *http.Request, err error) {
	kind := pfs.KindOf(err)
	x.cfg.Logger.Debug("page failed", "request", r.Method+" "+r.URL.Path, "remote", r.RemoteAddr, "error", pfs.Detail(err))
	w.Header().Del("Content-Disposition")
	pace.Linger(w)
	if strings.HasPrefix(r.URL.Path, "/ui/send/") {
		x.answer(w, wire.StatusOf(kind), map[string]any{"kind": kind.Error(), "message": textOf(err), "temporary": kind.Temporary()})
		return
	}
	p := errorPage{frame: x.frame("Not possible"), Message: textOf(err)}
	switch kind {
	case pfs.NotExist:
		p.Title = "Not found"
	case pfs.Permission:
		p.Title = "Not allowed"
	case pfs.Unavailable, pfs.Limit:
		p.Title = "Not available now"
		if r.Method == http.MethodGet {
			p.Retry = r.URL.RequestURI()
		}
	}
	x.render(w, wire.StatusOf(kind), "error", p)
}

// textOf returns what a user may read of err: the text of a pfs.Error, and of others only the Kind.
func textOf(err error) string { return wire.NewError(err).Err().Error() }

// errorPage is the data of the template "error".
type errorPage struct {
	frame
	Message string
	Retry   string // an address, empty if trying again does not help
}
