package cachefs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// slowStore is a store behind a network.
type slowStore struct {
	pfs.FileSystem
	*testbed.Network

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
	if s.Network != nil && s.Wait(ctx, n) != nil {
		return pfs.CheckContext(ctx, "slow", "")
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
