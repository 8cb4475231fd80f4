package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
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
		"/ui": web.New(web.Config{Auth: s.auth, Open: s.sessions("web"), Service: s.server, Home: s.home, Links: s.auth, Logger: s.log}),
	}
}

// home returns the home of a user: where browsing and sessions begin.
func (s *service) home(user string) pfs.Path {
	return pfs.Path("/pfs/" + s.opts.current + "/home/" + user)
}

// routed passes requests to the handler whose directory they are in, and all others to rest. Unlike http.ServeMux it
// leaves the path as the client sent it.
func routed(handlers map[string]http.Handler, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if h := handlers["/"+first]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}
