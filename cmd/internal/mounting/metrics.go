package mounting

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
)

// observe makes opts report requests to --access-log and to the metrics, and returns what serves --metrics.
func (o options) observe(opts *fuse.Options) (http.Handler, error) {
	var metrics http.Handler
	var observers []func(fuse.Request)
	if o.accessLog != "" {
		l, err := openAccessLog(o.accessLog, opts.Logger)
		if err != nil {
			return nil, err
		}
		observers = append(observers, l.add)
	}
	if o.metrics != "" {
		handler, count := o.monitor(*opts)
		metrics, observers = handler, append(observers, count)
	}
	if len(observers) > 0 {
		opts.Observe = func(r fuse.Request) {
			for _, o := range observers {
				o(r)
			}
		}
	}
	return metrics, nil
}

// serveMetrics serves --metrics until the process ends. /healthz fails until healthy is called.
func (o options) serveMetrics(metrics http.Handler, logger *slog.Logger) (healthy func(), err error) {
	if metrics == nil {
		return func() {}, nil
	}
	l, err := cliio.Listen("--metrics", o.metrics)
	if err != nil {
		return nil, err
	}
	var ready atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "the mount is not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	logger.Info("metrics are served", "address", l.Addr().String())
	return func() { ready.Store(true) }, nil
}
