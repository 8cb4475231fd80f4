package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

const (
	// stagedAge is how long a staged write that nobody goes on with is kept.
	stagedAge = 7 * 24 * time.Hour
	// firstSweep keeps the sweep out of the way of a start, and a service that is
	// started again and again from sweeping all the time.
	firstSweep = 10 * time.Minute
	sweepEvery = 24 * time.Hour
)

// sweeper removes what nobody needs any more.
type sweeper struct {
	stores map[string]pfs.FileSystem // by datacenter
	auth   *auth.Service
	log    *slog.Logger
}

// run sweeps every day until ctx is done.
func (s *sweeper) run(ctx context.Context) {
	timer := time.NewTimer(firstSweep)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			s.sweep(ctx)
			timer.Reset(sweepEvery)
		}
	}
}

// sweep removes stale staged writes and dead refresh tokens once.
func (s *sweeper) sweep(ctx context.Context) {
	for name, store := range s.stores {
		n, bytes, err := pfs.Sweep(ctx, store, pfs.Root, stagedAge)
		switch {
		case errors.Is(err, pfs.Unsupported):
		case err != nil:
			s.log.Error("sweep of stale uploads", "datacenter", name, "removed", n, "bytes", bytes, "err", err)
		default:
			s.log.Info("sweep of stale uploads", "datacenter", name, "removed", n, "bytes", bytes)
		}
	}
	n, err := s.auth.Sweep(ctx)
	if err != nil {
		s.log.Error("sweep of sessions", "removed", n, "err", err)
		return
	}
	s.log.Info("sweep of sessions", "removed", n)
}
