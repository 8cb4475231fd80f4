package main

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
)

// openBackend opens a store, like backends.Open.
type openBackend func(ctx context.Context, spec backends.Spec, by backends.Caller) (backends.Store, error)

// openStores opens the stores of all datacenters at the same time, since each may take as long as
// its timeouts. A store that does not answer is opened later. Any other error is one that an
// operator has to correct, and the service does not start.
func (s *service) openStores(ctx context.Context) error {
	type opened struct {
		store backends.Store
		late  bool
	}
	all := make([]opened, len(s.opts.datacenters))
	err := eachDatacenter(s.opts.datacenters, func(i int, dc datacenter) (err error) {
		all[i].store, all[i].late, err = s.openStore(ctx, dc)
		if err != nil {
			err = pfs.Errorf("pfsd.openStores", "", pfs.KindOf(err), "datacenter %s: %w", dc.name, cause(err))
		}
		return err
	})
	for i, dc := range s.opts.datacenters {
		if all[i].store.FileSystem == nil {
			continue
		}
		s.stores[dc.name] = all[i].store.FileSystem
		s.closers = append(s.closers, all[i].store.Close)
		if all[i].late {
			s.late = append(s.late, dc.name)
		}
	}
	if err == nil && len(s.late) == len(s.opts.datacenters) {
		s.log.Error("no store answers: the service starts, and waits for one")
	}
	return err
}

// eachDatacenter calls do for all datacenters at the same time. It returns the error of the first
// datacenter that has one.
func eachDatacenter(dcs []datacenter, do func(i int, dc datacenter) error) error {
	errs := make([]error, len(dcs))
	var work sync.WaitGroup
	for i, dc := range dcs {
		work.Go(func() {
			errs[i] = pfs.Guard("pfsd.eachDatacenter", "", func() error { return do(i, dc) })
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// openStore opens the store of dc, in the background if it does not answer now.
func (s *service) openStore(ctx context.Context, dc datacenter) (store backends.Store, isLate bool, err error) {
	if dc.own != "" {
		if err := os.Mkdir(dc.own, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return store, false, err
		}
	}
	log := s.log.With("datacenter", dc.name)
	open := func(ctx context.Context) (backends.Store, error) {
		store, err := s.backend(ctx, dc.store, backends.Caller{Logger: log, Session: s.opts.session(dc.name)})
		if err != nil {
			return store, err
		}
		err = dc.in(store.FileSystem).CheckAsUser()
		if err == nil {
			err = s.clusters.admit(ctx, dc, store.FileSystem)
		}
		if err != nil {
			_ = store.Close()
			return backends.Store{}, err
		}
		return store, nil
	}
	store, err = open(ctx)
	if errors.Is(err, pfs.Unavailable) {
		logClosed(log, err, firstTry)
		late := newLateStore(dc.name, open, log)
		return backends.Store{FileSystem: late, Close: late.Close}, true, nil
	}
	return store, false, err
}

// down returns the datacenters whose stores are unavailable now. It probes all at the same time, so
// that a silent one does not hide the others. It logs only changes.
func (s *service) down(ctx context.Context) (names []string) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for name, store := range s.stores {
		asking.Go(func() {
			err := pfs.Guard("pfsd.down", pfs.Root, func() error {
				_, err := store.Stat(ctx, pfs.Root)
				return err
			})
			_, was := s.away.Load(name)
			switch {
			case err != nil && !was:
				s.away.Store(name, true)
				s.log.Warn("a store does not answer", "datacenter", name, "err", pfs.Detail(err))
			case err == nil && was:
				s.away.Delete(name)
				s.log.Info("a store answers again", "datacenter", name)
			}
			if err != nil {
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

// session returns the name of this service for the store of a datacenter, the same after a restart:
// the store then immediately releases what a killed process still held. It is unique by machine,
// address and datacenter. Without a fixed address there is no such name.
func (o serveOptions) session(datacenter string) string {
	host, err := os.Hostname()
	_, port, perr := net.SplitHostPort(o.listen)
	if err != nil || perr != nil || port == "0" {
		return ""
	}
	return strings.Join([]string{program, host, o.listen, datacenter}, "/")
}
