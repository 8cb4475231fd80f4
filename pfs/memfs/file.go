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
	return pfs.InChunks(ctx, op, f.name, p, off, f.data.readAt)
}

func (f *file) Info() pfs.Info { return f.info }

func (f *file) Close() error {
	f.closed.Store(true)
	return nil
}
