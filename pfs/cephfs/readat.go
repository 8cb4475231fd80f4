//go:build ceph

package cephfs

import (
	"context"

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
func (r reads) at(ctx context.Context, p []byte, off int64) (int, error) {
	return pfs.InChunks(ctx, r.op, r.name, p, off, func(p []byte, off int64) (int, error) {
		n, err := r.chunk(ctx, p, off)
		return n, fail(r.op, r.name, err)
	})
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
