package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
)

// openStores opens the store of every datacenter. One that does not answer is opened
// later, since those of others can be used; what is wrong otherwise is a mistake that
// somebody has to mend, and the service does not start with it.
func (s *service) openStores(ctx context.Context) error {
	for _, dc := range s.opts.datacenters {
		if dc.own != "" {
			if err := os.Mkdir(dc.own, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
				return pfs.E("pfsd.openStores", "", pfs.KindOf(err), err)
			}
		}
		if err := s.openStore(ctx, dc); err != nil {
			return pfs.Errorf("pfsd.openStores", "", pfs.KindOf(err), "datacenter %s: %w", dc.name, cause(err))
		}
	}
	if len(s.late) == len(s.opts.datacenters) {
		s.log.Error("no store answers: the service starts, and can do nothing before one does")
	}
	return nil
}

// openStore opens the store of dc, later if it does not answer now.
func (s *service) openStore(ctx context.Context, dc datacenter) error {
	log := s.log.With("datacenter", dc.name)
	open := func(ctx context.Context) (backends.Store, error) {
		store, err := backends.Open(ctx, dc.store, backends.Caller{Log: log, Session: s.opts.session(dc.name)})
		if err != nil {
			return store, err
		}
		if err := dc.in(store.FileSystem).CheckIdentity(); err != nil {
			_ = store.Close()
			return backends.Store{}, err
		}
		return store, nil
	}
	store, err := open(ctx)
	switch {
	case errors.Is(err, pfs.Unavailable):
		logClosed(log, err, firstTry)
		late := newLateStore(dc.name, open, log)
		s.late = append(s.late, dc.name)
		store = backends.Store{FileSystem: late, Close: late.Close}
	case err != nil:
		return err
	}
	s.stores[dc.name] = store.FileSystem
	s.closers = append(s.closers, store.Close)
	return nil
}

// down returns the names of the datacenters whose stores do not answer now. All are asked
// at the same time, so that one that is silent does not hide what the others say.
func (s *service) down(ctx context.Context) (names []string) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for name, store := range s.stores {
		asking.Go(func() {
			err := pfs.Guard("pfsd.down", pfs.Root, func() error {
				_, err := store.Stat(ctx, pfs.Root)
				return err
			})
			if err != nil {
				s.log.Warn("a store does not answer", "datacenter", name, "err", pfs.Detail(err))
				mu.Lock()
				names = append(names, name)
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	slices.Sort(names)
	return names
}
