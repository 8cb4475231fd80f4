package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// readyWithin is how long the stores may take to answer /readyz.
	readyWithin = 5 * time.Second
	// readyFor is how long an answer is reused, because requests may come at any rate.
	readyFor = time.Second
)

// readiness remembers which datacenters were down.
type readiness struct {
	turn  chan struct{} // holds a token while the stores are checked
	until time.Time
	names []string
}

// down returns the result of ask, or one that is younger than readyFor. A call of ask serves all
// who wait, so it continues when one of them leaves.
func (a *readiness) down(ctx context.Context, ask func(context.Context) []string) []string {
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	if time.Now().Before(a.until) {
		return a.names
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	a.names = ask(ctx)
	a.until = time.Now().Add(readyFor)
	return a.names
}

// health reports that the process serves requests.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n")
}

// ready reports which datacenters are down. The service is ready while one is up.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	var down []string
	if s.cfg.Down != nil {
		down = s.readiness.down(r.Context(), s.cfg.Down)
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

// service describes the service to every client.
func (s *Server) service(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, wire.ServiceInfo{
		Version: s.cfg.Version, Protocol: wire.Version, Datacenters: s.cfg.Datacenters, Current: s.cfg.Current,
	})
}
