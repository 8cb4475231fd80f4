package mounting

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
)

// serveMetrics serves --metrics until the process ends. /healthz fails until healthy is called.
func (o options) serveMetrics(opts fuse.Options) (healthy func(), err error) {
	if o.metrics == "" {
		return func() {}, nil
	}
	l, err := cliio.Listen("--metrics", o.metrics)
	if err != nil {
		return nil, err
	}
	var ready atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.monitor(opts.Cache))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "the mount is not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	opts.Logger.Info("metrics are served", "address", l.Addr().String())
	return func() { ready.Store(true) }, nil
}
