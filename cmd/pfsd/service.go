package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/server"
)

// service is the running service with everything that it has open.
type service struct {
	opts     serveOptions
	log      *slog.Logger
	level    slog.LevelVar
	auth     *auth.Service
	backend  openBackend
	clusters *clusters
	stores   map[string]pfs.FileSystem // by datacenter
	late     []string                  // datacenters whose stores were unavailable at the start
	away     sync.Map                  // datacenters whose stores were unavailable at the last probe
	server   *server.Server
	cert     *auth.Certificate // nil without TLS
	audit    *logFile          // nil if the audit log is not a file
	stdout   io.Writer
	terminal bool              // whether the log goes to a terminal
	say      func(line string) // prints a line to the user who started the service

	front   net.Listener
	metrics net.Listener // nil without --metrics-listen
	ssh     net.Listener // nil without --sftp
	hostKey string       // fingerprint of the host key of SSH

	gateways []func(context.Context) error // each serves until its context is done
	webhdfs  net.Listener                  // nil without --webhdfs

	background []func(context.Context) // work of engines
	closers    []func() error
}

// serve runs the service until ctx is done.
func (m *Main) serve(ctx context.Context, opts serveOptions) error {
	s := &service{
		opts: opts, backend: backends.Open, clusters: newClusters(opts.datacenters), stores: map[string]pfs.FileSystem{},
		stdout: m.Stdout, terminal: cliio.IsTerminal(m.Stderr), say: m.say,
	}
	err := setLevel(&s.level, opts.logLevel)
	if err == nil {
		s.log, err = newLogger(m.Stderr, opts.logFormat, &s.level)
	}
	if err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	announce := func(lines []string) {
		for _, line := range lines {
			if opts.logFormat == "json" {
				s.log.Info(line)
			} else {
				m.say(line)
			}
		}
	}
	var hangup <-chan os.Signal
	if m.Hangups != nil {
		hangup = m.Hangups()
	}
	return errors.Join(s.run(ctx, hangup, announce), s.close())
}

// open opens everything that the service needs. It listens before it opens a store, so that a
// second service, started by mistake, takes nothing from the first.
func (s *service) open(ctx context.Context) error {
	steps := []func(context.Context) error{s.openAuth, s.openCertificate, s.openAudit, s.openListeners, s.openStores, s.openServer, s.openSFTP}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close closes everything in reverse order.
func (s *service) close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

func (s *service) openAuth(ctx context.Context) (err error) {
	if _, err := isDir(s.opts.data); err != nil {
		return err
	}
	if err := auth.MakeDir(s.opts.data); err != nil {
		return err
	}
	s.auth, err = auth.Open(ctx, s.opts.data, auth.Options{AccessLife: s.opts.accessLife, Logger: s.log})
	return err
}

func (s *service) openCertificate(ctx context.Context) (err error) {
	switch {
	case s.opts.noTLS:
		return nil
	case s.opts.tlsCert != "":
		if s.cert, err = auth.LoadCertificate(s.opts.tlsCert, s.opts.tlsKey); err != nil {
			return pfs.Errorf("pfsd.openCertificate", "", pfs.KindOf(err), "--tls-cert and --tls-key: %w", cause(err))
		}
	default:
		s.cert, err = auth.LoadOrMakeCertificate(ctx,
			filepath.Join(s.opts.data, "tls.crt"), filepath.Join(s.opts.data, "tls.key"), []string{s.opts.host()})
	}
	return err
}

func (s *service) openAudit(context.Context) (err error) {
	if s.opts.auditLog == "" || s.opts.auditLog == standardOutput {
		return nil
	}
	if s.audit, err = openLogFile(s.opts.auditLog); err == nil {
		s.closers = append(s.closers, s.audit.Close)
	}
	return err
}

// standardOutput is the name of a file that means standard output.
const standardOutput = "-"

// auditLogger returns the log for audit lines. Without --audit-log it is the log of the service or,
// at a terminal, a summary.
func (s *service) auditLogger() (*slog.Logger, error) {
	switch {
	case s.audit != nil:
		return newLogger(s.audit, s.opts.logFormat, slog.LevelInfo)
	case s.opts.auditLog == standardOutput:
		return newLogger(s.stdout, s.opts.logFormat, slog.LevelInfo)
	case s.terminal && s.opts.logFormat == "text":
		summary := &auditSummary{say: s.say}
		s.closers = append(s.closers, summary.Close)
		return slog.New(summary), nil
	}
	return s.log, nil
}

// openServer makes the tree that users see, and its server.
func (s *service) openServer(ctx context.Context) error {
	config := namespace.Config{Current: s.opts.current, Logger: s.log, Account: s.auth.Accounts().Identity}
	for _, dc := range s.opts.datacenters {
		config.Datacenters = append(config.Datacenters, dc.in(s.stores[dc.name]))
	}
	_ = eachDatacenter(s.opts.datacenters, func(i int, dc datacenter) error {
		err := config.Datacenters[i].CheckMapped(ctx)
		if err != nil {
			s.log.Warn("a mapped directory is not ready", "datacenter", dc.name, "err", cause(err))
		}
		return err
	})
	tree, err := namespace.New(config)
	if err != nil {
		return err
	}
	if err := tree.EnsureLayout(ctx); err != nil {
		s.log.Warn("a store is not ready yet", "err", err)
	}
	audit, err := s.auditLogger()
	if err != nil {
		return err
	}
	extensions, err := s.extensions(tree)
	if err != nil {
		return err
	}
	s.server = server.New(server.Config{
		Auth: s.auth, View: tree.View, EnsureHome: tree.EnsureHome, Down: s.down,
		Datacenters: names(s.opts.datacenters), Current: s.opts.current, Version: version,
		Logger: s.log, Audit: audit, MaxRequests: s.opts.requests, MaxHandles: s.opts.handles,
		Account: s.auth.Accounts().Has, Check: s.auth.Check, Extensions: extensions,
	})
	return nil
}
