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
	// stagedAge is the retention period of abandoned uploads.
	stagedAge = 7 * 24 * time.Hour
	// firstSweep delays the sweep after a start, so that it does not slow down the start, or run
	// all the time in a service that restarts often.
	firstSweep = 10 * time.Minute
	sweepEvery = 24 * time.Hour
)

// sweeper removes abandoned uploads and ended sessions.
type sweeper struct {
	stores map[string]pfs.FileSystem // by datacenter
	dcs    []datacenter
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

// sweep removes abandoned uploads and useless refresh tokens once.
func (s *sweeper) sweep(ctx context.Context) {
	for _, dc := range s.dcs {
		for _, dir := range dc.written() {
			var n int
			var bytes int64
			err := pfs.Guard("pfsd.sweep", dir, func() (err error) {
				n, bytes, err = pfs.Sweep(ctx, s.stores[dc.name], dir, stagedAge)
				return err
			})
			switch {
			case errors.Is(err, pfs.Unsupported), errors.Is(err, pfs.NotExist):
			case err != nil:
				s.log.Error("sweep of abandoned uploads", "datacenter", dc.name, "removed", n, "bytes", bytes, "directory", dir, "err", pfs.Detail(err))
			default:
				s.log.Info("sweep of abandoned uploads", "datacenter", dc.name, "removed", n, "bytes", bytes, "directory", dir)
			}
		}
	}
	n, err := s.auth.Sweep(ctx)
	if err != nil {
		s.log.Error("sweep of sessions", "removed", n, "err", err)
		return
	}
	s.log.Info("sweep of sessions", "removed", n)
}

// written returns the directories of the store that the service writes to. It does not search the
// rest, which may be large and belongs to others.
func (d datacenter) written() []pfs.Path {
	if d.dir == "" && len(d.mounts) == 0 {
		return []pfs.Path{pfs.Root}
	}
	dirs := d.in(nil).OwnDirs()
	for _, m := range d.mounts {
		if !m.ReadOnly {
			dirs = append(dirs, m.Dir)
		}
	}
	return dirs
}
