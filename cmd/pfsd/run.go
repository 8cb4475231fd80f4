package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // enough for a path of pfs.MaxPath, each byte escaped, and a token
	// drain is how long requests in progress may take to end after a signal.
	drain = 30 * time.Second
)

// door is a listener with its server.
type door struct {
	server   *http.Server
	listener net.Listener
}

// run serves until ctx is done and all requests have ended. It calls announce once, when clients
// can connect.
func (s *service) run(ctx context.Context, hangup <-chan os.Signal, announce func([]string)) error {
	front, metrics := s.front, s.metrics
	doors := []door{{s.httpServer(s.frontHandler()), stacked(front, s.opts.connections, s.opts.addressShare(), s.tlsConfig())}}
	if metrics != nil {
		doors = append(doors, door{s.httpServer(s.metricsHandler()), newLimitListener(metrics, metricsConnections, 0)})
	}
	if s.webhdfs != nil {
		d, err := s.webhdfsDoor()
		if err != nil {
			return err
		}
		doors = append(doors, d)
	}
	announce(s.announcement(front.Addr(), metrics))

	background, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		(&sweeper{stores: s.stores, dcs: s.opts.datacenters, auth: s.auth, log: s.log}).run(background)
	})
	work.Go(func() { s.followHangups(background, hangup) })
	for _, do := range s.background {
		work.Go(func() { do(background) })
	}
	err := s.serveAll(ctx, doors)
	stop()
	work.Wait()
	s.server.Close()
	return err
}

func (s *service) tlsConfig() *tls.Config {
	if s.cert == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.cert.GetCertificate,
	}
}

// httpServer limits the resources of a client that sends nothing. Bodies have their own deadlines,
// which move as bytes arrive.
func (s *service) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ConnContext:       s.server.ConnContext,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// serveAll serves until ctx is done or a listener fails, then shuts down.
func (s *service) serveAll(ctx context.Context, doors []door) error {
	failed := make(chan error, len(doors)+len(s.gateways))
	for _, d := range doors {
		go func() { failed <- d.server.Serve(d.listener) }()
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var gateways sync.WaitGroup
	defer gateways.Wait()
	for _, serve := range s.gateways {
		gateways.Go(func() {
			if err := serve(serving); err != nil {
				failed <- err
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down: requests in progress may end", "within", drain)
	case err = <-failed:
		err = pfs.Errorf("pfsd.serveAll", "", pfs.Other, "%w", err)
	}
	stop()
	return errors.Join(err, s.shutdown(context.WithoutCancel(ctx), doors))
}

// shutdown waits for requests in progress, and ends those that take too long.
func (s *service) shutdown(ctx context.Context, doors []door) error {
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	var errs []error
	for _, d := range doors {
		err := d.server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			s.log.Warn("some requests did not end in time and were cut off")
			err = d.server.Close()
		}
		errs = append(errs, err)
	}
	s.log.Info("stopped")
	return errors.Join(errs...)
}

// metricsConnections is enough for collectors of metrics.
const metricsConnections = 64

// frontHandler serves clients. On loopback it also serves the metrics, unless they have their own
// address.
func (s *service) frontHandler() http.Handler {
	handlers := s.gatewayHandlers()
	if cliio.IsLoopback(s.opts.host()) && s.opts.metricsListen == "" {
		handlers["/metrics"] = s.server.Metrics()
	}
	return routed(handlers, s.server)
}

// metricsHandler serves metrics and health checks.
func (s *service) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.server.Metrics())
	mux.Handle("GET /healthz", s.server)
	mux.Handle("GET /readyz", s.server)
	return mux
}
