package server

import (
	"context"
	"io"
	"net/http"
	"time"
)

// readyWithin is how long the stores may take to answer /readyz.
const readyWithin = 5 * time.Second

// health says that the process serves requests.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n")
}

// ready says whether the stores answer.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		if err := s.cfg.Ready(ctx); err != nil {
			s.cfg.Logger.Warn("not ready", "error", detail(err))
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}
