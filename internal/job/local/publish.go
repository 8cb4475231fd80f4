//go:build linux

package local

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	publishEvery    = time.Second // the least time between two records in the store
	publishPatience = time.Minute // for the last one
)

// publisher keeps the record in the store up to date.
type publisher struct {
	fsys pfs.FileSystem
	log  *slog.Logger
	wake chan struct{}

	mu     sync.Mutex
	latest *job.Record
}

// set has a copy of r written.
func (p *publisher) set(r *job.Record) {
	copied := *r
	copied.Workers = slices.Clone(r.Workers)
	p.mu.Lock()
	p.latest = &copied
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run writes records until it has written one of a job that has ended. It returns false if ctx ends first.
func (p *publisher) run(ctx context.Context) bool {
	for ctx.Err() == nil {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return false
		}
		p.mu.Lock()
		r := p.latest
		p.mu.Unlock()
		err := job.WriteRecord(ctx, p.fsys, r)
		if err == nil && r.State.Ended() {
			return true
		}
		if err != nil {
			p.log.Error("the record was not written to the store", "error", err)
			select {
			case p.wake <- struct{}{}: // again
			default:
			}
		}
		pause := time.NewTimer(publishEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
	return false
}
