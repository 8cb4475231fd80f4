package hdfsfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// renewInterval is the time between two renewals of a lease. If a lease was not renewed for a minute, other writers can take its
// files over.
const renewInterval = 20 * time.Second

// leases are the leases of the files of a user that are open for writing. One goroutine renews them while there are any.
type leases struct {
	rpc *rpc.Client

	mu   sync.Mutex
	held map[string]int // files, by the holder
	stop context.CancelFunc
}

// hold renews the lease of a holder until it is released as often.
func (l *leases) hold(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[holder]++
	if l.stop == nil {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(context.Background())
		go l.renew(ctx)
	}
}

func (l *leases) release(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[holder]--; l.held[holder] <= 0 {
		delete(l.held, holder)
	}
	if len(l.held) == 0 {
		l.halt()
	}
}

// halt ends the renewals; l.mu is held.
func (l *leases) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

func (l *leases) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halt()
}

// renew renews the leases after each renewInterval until ctx is done. It ignores errors: a writer that has lost its lease gets an
// error from its next call.
func (l *leases) renew(ctx context.Context) {
	for wait(ctx, renewInterval) == nil {
		l.mu.Lock()
		var holders []string
		for h := range l.held {
			holders = append(holders, h)
		}
		l.mu.Unlock()
		for _, h := range holders {
			_ = pfs.Guard("hdfsfs.renewLease", "", func() error {
				return l.rpc.Call(ctx, "renewLease", &hdfsproto.RenewLeaseRequest{Holder: &h}, new(hdfsproto.RenewLeaseResponse), rpc.Idempotent)
			})
		}
	}
}
