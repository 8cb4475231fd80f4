package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// readyWithin is how long the stores may take to answer /readyz.
const readyWithin = 5 * time.Second

// health says that the process serves requests.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n")
}

// ready says which datacenters cannot be used. The service is ready while there is one
// that can.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	var down []string
	if s.cfg.Down != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		down = s.cfg.Down(ctx)
	}
	switch names := strings.Join(down, ", "); {
	case len(down) == 0:
		_, _ = io.WriteString(w, "ready\n")
	case len(down) < len(s.cfg.Datacenters):
		_, _ = io.WriteString(w, "ready, without: "+names+"\n")
	default:
		http.Error(w, "not ready: "+names, http.StatusServiceUnavailable)
	}
}

// service describes the service to anybody.
func (s *Server) service(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, wire.ServiceInfo{
		Version: s.cfg.Version, Protocol: wire.Version, Datacenters: s.cfg.Datacenters, Current: s.cfg.Current,
	})
}
