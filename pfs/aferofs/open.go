package aferofs

import (
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/spf13/afero"
)

// Open opens the file name for reading. If the file is replaced, reads continue with the
// old content where afs keeps it.
func (s *store) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "aferofs.Open"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	fi, err := s.find(op, name)
	if err == nil {
		err = rules.Open(op, name, fi.Mode())
	}
	if err != nil {
		return nil, err
	}
	f, err := s.afs.Open(nameOf(name))
	if err != nil {
		return nil, fail(op, name, err)
	}
	return &file{name: name, info: s.info(name, fi), f: f}, nil
}

// file is an open file.
type file struct {
	name pfs.Path
	info pfs.Info

	mu     sync.Mutex // one ReadAt at a time: files in memory keep an offset
	f      afero.File
	closed bool
}

func (f *file) Info() pfs.Info { return f.info }

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "aferofs.File.ReadAt"
	return pfs.InChunks(ctx, op, f.name, p, off, func(p []byte, off int64) (int, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closed {
			return 0, pfs.E(op, f.name, pfs.Closed, nil)
		}
		return readAt(op, f.name, f.f, p, off)
	})
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return fail("aferofs.File.Close", f.name, f.f.Close())
}

// readAt fills p or returns an error, whatever f returns at its end.
func readAt(op string, name pfs.Path, f afero.File, p []byte, off int64) (n int, err error) {
	n, err = io.ReadFull(io.NewSectionReader(f, off, int64(len(p))), p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, fail(op, name, err)
}
