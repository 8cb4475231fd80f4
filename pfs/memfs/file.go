package memfs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// Open opens the file name for reading.
func (s *FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "memfs.Open"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.findFile(op, name)
	if err == nil {
		err = s.may(op, name, n, read)
	}
	if err != nil {
		return nil, err
	}
	return &file{name: name, info: n.info(name.Base()), data: n.data}, nil
}

// file is a version of a file, open for reading.
type file struct {
	name   pfs.Path
	info   pfs.Info
	data   content
	closed atomic.Bool
}

var _ pfs.File = (*file)(nil)

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.File.ReadAt"
	if f.closed.Load() {
		return 0, pfs.E(op, f.name, pfs.Closed, nil)
	}
	return readChunks(ctx, op, f.name, f.data.readAt, p, off)
}

func (f *file) Info() pfs.Info { return f.info }

func (f *file) Close() error {
	f.closed.Store(true)
	return nil
}

// readChunks fills p with read, at most a chunk at a time, and stops between two chunks when ctx
// is done.
func readChunks(ctx context.Context, op string, name pfs.Path, read func([]byte, int64) (int, error), p []byte, off int64) (n int, err error) {
	if err := pfs.CheckRange(op, name, off, len(p)); err != nil {
		return 0, err
	}
	for err == nil {
		if err := pfs.CheckContext(ctx, op, name); err != nil {
			return n, err
		}
		if n == len(p) {
			break
		}
		var k int
		k, err = read(p[n:min(len(p), n+pfs.ChunkSize)], off+int64(n))
		n += k
	}
	return n, err
}
