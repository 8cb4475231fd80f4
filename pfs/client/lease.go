package client

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// leases renews the leases of idle handles.
type leases struct {
	mu     sync.Mutex
	open   map[string]*handle // by ID
	every  time.Duration      // between renewals
	timer  *time.Timer        // nil while no handle is open
	cancel context.CancelFunc // of the renewal in progress
	closed bool
}

// add begins to renew the lease of h.
func (l *leases) add(c *Client, h *handle, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.open == nil {
		l.open = map[string]*handle{}
	}
	l.open[h.wire.ID] = h
	h.used.Store(true)
	l.every = max(lease/3, time.Second)
	if l.timer == nil {
		l.timer = time.AfterFunc(l.every, func() { l.renew(c) })
	}
}

// remove ends the renewals for h.
func (l *leases) remove(h *handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, h.wire.ID)
	l.stopIf(len(l.open) == 0)
}

// close ends all renewals.
func (l *leases) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.stopIf(true)
	if l.cancel != nil {
		l.cancel()
	}
}

// stopIf stops the timer. l.mu is held.
func (l *leases) stopIf(now bool) {
	if now && l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// renew renews the leases of the handles that had no request since the last time.
func (l *leases) renew(c *Client) {
	l.mu.Lock()
	var idle []*handle
	for _, h := range l.open {
		if !h.used.Swap(false) {
			idle = append(idle, h)
		}
	}
	every := l.every
	ctx, cancel := context.WithTimeout(context.Background(), every)
	defer cancel()
	l.cancel = cancel
	l.mu.Unlock()
	for ; len(idle) > 0; idle = idle[min(len(idle), wire.MaxRenew):] {
		c.renewLeases(ctx, idle[:min(len(idle), wire.MaxRenew)])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Reset(every)
	}
}

// renewLeases sends one request for the handles. It reopens those that the service does not hold,
// for example after a restart, while their names still lead to them.
func (c *Client) renewLeases(ctx context.Context, handles []*handle) {
	var q wire.RenewRequest
	var reply wire.RenewReply
	for _, h := range handles {
		q.IDs = append(q.IDs, h.wire.ID)
	}
	const op = "client.renewLeases"
	err := c.ask(ctx, op, wire.CallRenew, handles[0].name(), q, &reply)
	for _, i := range reply.Gone {
		if i >= 0 && i < len(handles) {
			_, err = handles[i].Stat(ctx)
		}
	}
	if err != nil {
		c.opts.Logger.Debug("a lease was not renewed", "op", op, "error", err)
	}
}
