package cachefs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// slowStore is a store behind a network: each request takes a while, a stream has a rate, and all
// streams together have another.
type slowStore struct {
	pfs.FileSystem
	latency       time.Duration
	stream, total float64 // bytes a second; 0 for no limit

	mu   sync.Mutex
	free time.Time // when the network is free

	requests, running, most atomic.Int64
	bytes                   atomic.Int64

	// fault, if not nil, may change what a request reads, and its error.
	fault func(ctx context.Context, name pfs.Path, p []byte, off int64) error
}

// request waits as long as a request that returns n bytes takes.
func (s *slowStore) request(ctx context.Context, n int) error {
	s.requests.Add(1)
	if now := s.running.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	defer s.running.Add(-1)
	sleep := func(d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return pfs.CheckContext(ctx, "slow", "")
		}
	}
	if err := sleep(s.latency); err != nil || s.stream == 0 {
		return err
	}
	const segment = 256 << 10
	at := time.Now()
	for ; n > 0; n -= segment {
		k := float64(min(n, segment))
		at = at.Add(time.Duration(k / s.stream * 1e9))
		s.mu.Lock()
		if now := time.Now(); s.free.Before(now) {
			s.free = now
		}
		s.free = s.free.Add(time.Duration(k / s.total * 1e9))
		if s.free.After(at) {
			at = s.free
		}
		s.mu.Unlock()
		if wait := time.Until(at); wait > 0 {
			if err := sleep(wait); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slowStore) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if err := s.request(ctx, 0); err != nil {
		return nil, err
	}
	f, err := s.FileSystem.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &slowFile{f, s, name}, nil
}

func (s *slowStore) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if err := s.request(ctx, 0); err != nil {
		return pfs.Info{}, err
	}
	return s.FileSystem.Stat(ctx, name)
}

func (s *slowStore) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if err := s.request(ctx, 0); err != nil {
		return pfs.Page{}, err
	}
	return s.FileSystem.List(ctx, name, opts)
}

type slowFile struct {
	pfs.File
	s    *slowStore
	name pfs.Path
}

func (f *slowFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := f.s.request(ctx, len(p)); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(ctx, p, off)
	f.s.bytes.Add(int64(n))
	if f.s.fault != nil {
		if fault := f.s.fault(ctx, f.name, p[:n], off); fault != nil {
			return 0, fault
		}
	}
	return n, err
}

// slowService is a slowStore that reads many files with one request, as the client of a service does.
type slowService struct{ *slowStore }

func (s slowService) ReadBatch(ctx context.Context, files []pfs.BatchFile) []error {
	n := 0
	for _, f := range files {
		n += len(f.Data)
	}
	if err := s.request(ctx, n); err != nil {
		errs := make([]error, len(files))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	errs := pfs.ReadBatch(ctx, s.FileSystem, files)
	s.bytes.Add(int64(n))
	for i, f := range files {
		if s.fault != nil && errs[i] == nil {
			errs[i] = s.fault(ctx, f.Path, f.Data, 0)
		}
	}
	return errs
}
