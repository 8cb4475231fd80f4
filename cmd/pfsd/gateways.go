package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/submit"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/web"
	"github.com/paddlecloud/pfs/pfs/webdav"
)

// sessions returns what begins the sessions of users who come through a protocol.
func (s *service) sessions(protocol string) gateway.Open {
	return func(ctx context.Context, g auth.Grant, remote string) (gateway.Session, error) {
		x, err := s.server.NewSession(ctx, g, protocol, remote)
		if err != nil {
			return nil, err
		}
		return x, nil
	}
}

// gatewayHandlers returns the gateways at the address of the service, by the directory of their URLs.
func (s *service) gatewayHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/dav": webdav.New(webdav.Config{
			Prefix: "/dav", Auth: s.auth, Open: s.sessions("webdav"),
			Refused: func(ctx context.Context, user, remote string, err error) {
				s.server.AuditLogin(ctx, "webdav", user, remote, err)
			},
		}),
		"/ui": web.New(web.Config{Auth: s.auth, Open: s.sessions("web"), Service: s.server, Home: s.home, Links: s.auth, Jobs: s.jobs(), Logger: s.log}),
	}
}

// jobs returns what the pages of jobs need.
func (s *service) jobs() web.Jobs {
	jobs := web.Jobs{Submit: submitOnService}
	for _, dc := range s.opts.datacenters {
		d := web.JobDatacenter{Name: dc.name}
		if _, ok := engineKinds[dc.engine]; ok {
			d.Engine = dc.engine
		}
		jobs.Datacenters = append(jobs.Datacenters, d)
	}
	return jobs
}

// submitOnService starts a job whose package is on the service.
func submitOnService(ctx context.Context, tree pfs.FileSystem, e job.Engine, kind string, spec *job.Spec) error {
	const op = "pfsd.submit"
	sub := &submit.Submission{FS: tree, Engine: e, Kind: kind, Spec: spec}
	err := sub.Submit(ctx)
	var name *submit.NameError
	var left *submit.LeftError
	switch { // what a user may read has the type of pfs
	case errors.As(err, &left):
		return pfs.Errorf(op, "", pfs.KindOf(err), "%s", left)
	case errors.As(err, &name):
		return pfs.Errorf(op, "", pfs.Exist, "%s", name)
	}
	return err
}

// home returns the home of a user: where browsing and sessions begin.
func (s *service) home(user string) pfs.Path {
	return pfs.Path("/pfs/" + s.opts.current + "/home/" + user)
}

// routed passes requests to the handler whose directory they are in, and all others to rest. Unlike http.ServeMux it
// leaves the path as the client sent it. A browser at the address of the service gets to the pages.
func routed(handlers map[string]http.Handler, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && r.Method == http.MethodGet {
			http.Redirect(w, r, "/ui/", http.StatusSeeOther)
			return
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if h := handlers["/"+first]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}
