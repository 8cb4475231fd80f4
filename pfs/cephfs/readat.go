//go:build ceph

package cephfs

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// reads reads an open file, of any kind of handle.
type reads struct {
	fs   FS
	op   string
	name pfs.Path
	of   *opened
	// judge, if not nil, returns an error if the bytes that were just read must not be used.
	judge func(*call, *handle) error
}

// at implements ReadAt of a File.
func (r reads) at(ctx context.Context, p []byte, off int64) (n int, err error) {
	if err := pfs.CheckRange(r.op, r.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, r.op, r.name); err != nil {
			return n, err
		}
		chunk := p[n:min(len(p), n+pfs.ChunkSize)]
		k, err := r.chunk(ctx, chunk, off+int64(n))
		n += k
		switch {
		case err != nil:
			return n, fail(r.op, r.name, err)
		case k < len(chunk):
			return n, io.EOF
		case n == len(p):
			return n, nil
		}
	}
}

// chunk reads until p, at most a chunk, is full or the file ends.
func (r reads) chunk(ctx context.Context, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return r.block(ctx, p, off)
	}
	return blocks(len(p), off, func(from, to int, off int64) (int, error) {
		b, err := r.fs.store.movingBuffer(ctx, to-from)
		if err != nil {
			return 0, err
		}
		n, err := r.block(ctx, b.p, off)
		copy(p[from:], b.p[:n])
		b.free(err)
		return n, err
	})
}

// block reads until p is full or the file ends. After an error p may still be written to
// for a while.
func (r reads) block(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := run(ctx, r.fs, func(c *call) (int, error) {
		h, err := r.of.use(c)
		if err != nil {
			return 0, err
		}
		defer h.drop()
		n, err := h.read(c, p, off)
		if err == nil && r.judge != nil {
			err = r.judge(c, h)
		}
		return n, err
	}, nil)
	if err != nil {
		return 0, err
	}
	return n, nil
}
