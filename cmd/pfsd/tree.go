package main

import (
	"context"

	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/server"
)

// openServer makes the tree that users see of the stores, and its server.
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
	s.server = server.New(server.Config{
		Auth: s.auth, View: tree.View, EnsureHome: tree.EnsureHome, Down: s.down,
		Datacenters: names(s.opts.datacenters), Current: s.opts.current, Version: version,
		Logger: s.log, Audit: audit, MaxRequests: s.opts.requests,
		Account: s.auth.Accounts().Has,
	})
	return nil
}
