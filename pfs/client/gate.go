package client

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// gates keep a client within its user's shares of the service, which the service states in its
// answers. Waiting here costs nothing; waiting in the service ends in a refusal.
type gates struct {
	requests, reads, writes gate
}

// of returns the gate of a request, or nil.
func (g *gates) of(m message) *gate {
	switch m.path {
	case wire.PathRead:
		return &g.reads
	case wire.PathBatch, wire.PathCopy, wire.PathWrite:
		return &g.writes
	}
	if m.anonymous {
		return nil
	}
	return &g.requests
}

// learn takes the limits from an answer.
func (g *gates) learn(h http.Header) {
	g.requests.set(h.Get(wire.HeaderRequests))
	g.reads.set(h.Get(wire.HeaderBatches))
	g.writes.set(h.Get(wire.HeaderBatches))
}

// gate bounds the requests of one kind in progress.
type gate struct {
	mu    sync.Mutex
	limit int // 0 if unknown
	used  int
	freed chan struct{} // closed when a request ends; nil if none waits
}

func (g *gate) set(limit string) {
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = n
}

// enter waits until one more request may start. The caller calls leave once.
func (g *gate) enter(ctx context.Context, op string, name pfs.Path) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	for {
		freed := g.try()
		if freed == nil {
			return g.leave, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, pfs.CheckContext(ctx, op, name)
		}
	}
}

// try enters, or returns a channel that is closed when another try may succeed.
func (g *gate) try() (freed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit == 0 || g.used < g.limit {
		g.used++
		return nil
	}
	if g.freed == nil {
		g.freed = make(chan struct{})
	}
	return g.freed
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}
