package memfs

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// Open opens the file name for reading.
func (s *FS) Open(ctx context.Context, name pfs.Path) (f pfs.File, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.Open", name, (*FS).findFile, 0, read, func(n *node) error {
		f = &file{name: name, info: n.info(name.Base()), data: n.data}
		return nil
	})
	return f, err
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
