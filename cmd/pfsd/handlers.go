package main

import (
	"net/http"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// metricsConnections is enough for collectors of metrics.
const metricsConnections = 64

// frontHandler serves clients. On loopback it also serves the metrics, unless they have their own
// address.
func (s *service) frontHandler() http.Handler {
	if !cliio.IsLoopback(s.opts.host()) || s.opts.metricsListen != "" {
		return s.server
	}
	metrics := s.server.Metrics()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			metrics.ServeHTTP(w, r)
			return
		}
		s.server.ServeHTTP(w, r)
	})
}

// metricsHandler serves metrics and health checks.
func (s *service) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.server.Metrics())
	mux.Handle("GET /healthz", s.server)
	mux.Handle("GET /readyz", s.server)
	return mux
}
