package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	// firstTry and lastTry are the first and the longest pause between attempts to open a store.
	firstTry = time.Second
	lastTry  = time.Minute
)

// openStore opens the store of a datacenter.
type openStore func(ctx context.Context) (backends.Store, error)

// lateStore replaces a store that did not answer when the service started. It is opened in the
// background; until then every operation returns Unavailable, and afterwards goes to the store. It
// is safe for concurrent use.
type lateStore struct {
	*pfs.Layer
	datacenter string

	mu     sync.Mutex
	store  backends.Store // without a FileSystem until it is open
	owners map[lateOwner]*pfs.Layer

	stop    context.CancelFunc
	opening sync.WaitGroup
}

// lateOwner identifies a tree of the store for one user: the result of For or of As.
type lateOwner struct {
	pfs.Owner
	as bool
}

var (
	_ pfs.OwnershipGiver = (*lateStore)(nil)
	_ pfs.Impersonator   = (*lateStore)(nil)
)

// newLateStore starts opening the store. Close stops that.
func newLateStore(datacenter string, open openStore, log *slog.Logger) *lateStore {
	l := &lateStore{datacenter: datacenter, owners: map[lateOwner]*pfs.Layer{}}
	l.Layer = l.layer(func(store pfs.FileSystem) (pfs.FileSystem, error) { return store, nil })
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.opening.Go(func() { l.openLater(ctx, open, log) })
	return l
}

// layer returns a tree whose operations go to the result of choose for the store.
func (l *lateStore) layer(choose func(store pfs.FileSystem) (pfs.FileSystem, error)) *pfs.Layer {
	return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		store := l.opened()
		if store == nil {
			return pfs.Errorf("pfsd.lateStore", name, pfs.Unavailable,
				"the store of datacenter %s has not answered since the service started, which keeps trying", l.datacenter)
		}
		fsys, err := choose(store)
		if err != nil {
			return pfs.Errorf("pfsd.lateStore", name, pfs.KindOf(err), "%w", err)
		}
		return call(fsys, name)
	})
}

// opened returns the store, or nil if it is not open yet.
func (l *lateStore) opened() pfs.FileSystem {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.FileSystem
}

// WithOwner returns the store whose new files belong to owner. It does not know yet whether the store
// supports owners: if it does not, files belong to the service.
func (l *lateStore) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	return l.of(lateOwner{Owner: owner}, func(store pfs.FileSystem) (pfs.FileSystem, error) {
		fsys, err := pfs.WithOwner(store, owner)
		if errors.Is(err, pfs.Unsupported) {
			return store, nil
		}
		return fsys, err
	}), nil
}

// Impersonate returns the store with the rights of owner. If the store refuses the owner, every operation
// returns the store's error.
func (l *lateStore) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	return l.of(lateOwner{owner, true}, func(store pfs.FileSystem) (pfs.FileSystem, error) {
		return pfs.Impersonate(store, owner)
	}), nil
}

// of returns the only tree of an owner. There are as many as accounts.
func (l *lateStore) of(owner lateOwner, choose func(pfs.FileSystem) (pfs.FileSystem, error)) *pfs.Layer {
	l.mu.Lock()
	defer l.mu.Unlock()
	tree := l.owners[owner]
	if tree == nil {
		tree = l.layer(choose)
		l.owners[owner] = tree
	}
	return tree
}

// openLater tries to open the store until it succeeds or ctx is done. It also retries after other
// errors, since an operator may correct their cause.
func (l *lateStore) openLater(ctx context.Context, open openStore, log *slog.Logger) {
	timer := time.NewTimer(firstTry)
	defer timer.Stop()
	for pause := firstTry; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		var store backends.Store
		err := pfs.Guard("pfsd.openLater", "", func() (err error) {
			store, err = open(ctx)
			return err
		})
		if err == nil {
			l.mu.Lock()
			l.store = store
			l.mu.Unlock()
			log.Info("the store answers: the datacenter can be used")
			return
		}
		pause = min(2*pause, lastTry)
		if ctx.Err() == nil {
			logClosed(log, err, pause)
		}
		timer.Reset(pause)
	}
}

// logClosed logs why a store is not open. A store that answers but cannot be used needs an
// operator.
func logClosed(log *slog.Logger, err error, pause time.Duration) {
	level := slog.LevelWarn
	if pfs.KindOf(err) != pfs.Unavailable {
		level = slog.LevelError
	}
	log.Log(context.Background(), level, "the store is not open: the datacenter cannot be used", "err", cause(err), "next try in", pause)
}

// Close stops the attempts to open the store, and closes it.
func (l *lateStore) Close() error {
	l.stop()
	l.opening.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store.FileSystem == nil {
		return nil
	}
	return l.store.Close()
}
