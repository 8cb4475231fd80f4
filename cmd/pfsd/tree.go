package main

import (
	"context"

	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/server"
)

// openServer makes the tree that users see of the stores, and its server.
func (s *service) openServer(ctx context.Context) error {
	config := namespace.Config{Current: s.opts.current, Logger: s.log, Account: s.auth.Accounts().Has}
	for _, dc := range s.opts.datacenters {
		config.Datacenters = append(config.Datacenters, namespace.Datacenter{Name: dc.name, FS: s.stores[dc.name]})
	}
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
	s.server = server.New(server.Config{
		Auth: s.auth, View: tree.View, EnsureHome: tree.EnsureHome, Ready: s.ready,
		Datacenters: names(s.opts.datacenters), Current: s.opts.current, Version: version,
		Logger: s.log, Audit: audit, MaxRequests: s.opts.requests,
		Account: s.auth.Accounts().Has,
	})
	return nil
}
