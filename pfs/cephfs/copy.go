//go:build ceph

package cephfs

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"golang.org/x/sync/errgroup"
)

const (
	// copyJobs is the number of concurrent chunks of a copy.
	copyJobs = 4
	// maxCopying is that of all copies together.
	maxCopying = 8
)

// CopyFile copies inside the store, through this program's memory: clients of CephFS have no other
// way. The copy is read back, and its digest compared with the source's stored digest, or with one
// computed from the source.
func (f FS) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(done int64)) (info pfs.Info, err error) {
	const op = "cephfs.CopyFile"
	if err := check(ctx, op, dst); err != nil {
		return pfs.Info{}, err
	}
	r, err := f.openFile(ctx, op, src)
	if err != nil {
		return pfs.Info{}, err
	}
	defer r.Close()
	w, err := f.create(ctx, op, dst, pfs.CreateOptions{ID: opts.ID, Size: r.info.Size})
	if err != nil {
		return pfs.Info{}, err
	}
	defer func() {
		if err != nil && opts.ID != "" {
			w.Suspend(ctx) // so that the same copy can be resumed
		}
		w.Close(ctx)
	}()
	c := copying{op: op, r: r, w: w}
	if err := c.chunks(ctx, progress); err != nil {
		return pfs.Info{}, err
	}
	sum, err := digest.OfCopy(ctx, op, dst, w, src, r)
	if err != nil {
		return pfs.Info{}, err
	}
	return w.Commit(ctx, opts.Commit(r.info, sum))
}

// copying is one CopyFile.
type copying struct {
	op string
	r  *file
	w  *staged
}

// chunks copies all chunks, several at once.
func (c *copying) chunks(ctx context.Context, progress func(done int64)) error {
	size := c.r.info.Size
	for off := int64(0); off < size; off += copyJobs * pfs.ChunkSize {
		end := min(size, off+copyJobs*pfs.ChunkSize)
		g, ctx := errgroup.WithContext(ctx)
		for at := off; at < end; at += pfs.ChunkSize {
			g.Go(func() error { return c.chunk(ctx, at, min(pfs.ChunkSize, end-at)) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if progress != nil {
			progress(end)
		}
	}
	return nil
}

// chunk copies n bytes at off, unless an interrupted copy has already done so.
func (c *copying) chunk(ctx context.Context, off, n int64) error {
	s := c.r.fs.store
	if err := s.copying.Acquire(ctx, 1); err != nil {
		return timedOut(ctx)
	}
	defer s.copying.Release(1)
	p := make([]byte, n)
	if err := pfs.ReadFull(ctx, c.r, p, off); err != nil {
		return err
	}
	if c.w.resumed {
		got := make([]byte, n)
		k, err := c.w.ReadAt(ctx, got, off)
		if err != nil && err != io.EOF {
			return err
		}
		if int64(k) == n && digest.Leaf(got) == digest.Leaf(p) {
			return nil
		}
	}
	_, err := c.w.WriteAt(ctx, p, off)
	return err
}
