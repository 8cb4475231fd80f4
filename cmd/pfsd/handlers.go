package main

import (
	"net/http"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// metricsConnections is enough for whoever collects metrics.
const metricsConnections = 64

// frontHandler serves clients. Where only this machine can reach it and nothing
// else was asked for, it serves the metrics too.
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

// metricsHandler serves those who watch the service.
func (s *service) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.server.Metrics())
	mux.Handle("GET /healthz", s.server)
	mux.Handle("GET /readyz", s.server)
	return mux
}
