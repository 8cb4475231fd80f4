package pfs

import (
	"context"
)

// layerStaged is a Staged of a Layer. Its errors carry the path that the caller used.
type layerStaged struct {
	Staged
	layer        *Layer
	inner, outer Path
}

var (
	_ LeafDigester = (*layerStaged)(nil)
	_ Identifier   = (*layerStaged)(nil)
)

func (w *layerStaged) Identity() any { return IdentityOf(w.Staged) }

func (w *layerStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := w.Staged.WriteAt(ctx, p, off)
	return n, renamed(err, w.inner, w.outer)
}

func (w *layerStaged) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := w.Staged.ReadAt(ctx, p, off)
	return n, renamed(err, w.inner, w.outer)
}

func (w *layerStaged) Sync(ctx context.Context) error {
	return renamed(w.Staged.Sync(ctx), w.inner, w.outer)
}

func (w *layerStaged) Suspend(ctx context.Context) error {
	return renamed(w.Staged.Suspend(ctx), w.inner, w.outer)
}

func (w *layerStaged) Close(ctx context.Context) error {
	return renamed(w.Staged.Close(ctx), w.inner, w.outer)
}

func (w *layerStaged) Commit(ctx context.Context, opts CommitOptions) (Info, error) {
	// The path may have become read-only since the upload began.
	err := w.layer.one(ctx, "pfs.Commit", Write, w.outer, func(FileSystem, Path) error { return nil })
	if err != nil {
		return Info{}, err
	}
	defer w.layer.wrote(w.outer)
	info, err := w.Staged.Commit(ctx, opts)
	if err == nil {
		info.Name = w.outer.Base()
	}
	return info, renamed(err, w.inner, w.outer)
}

func (w *layerStaged) LeafDigests(ctx context.Context, size, first int64, n int) ([]LeafDigest, error) {
	c, ok := w.Staged.(LeafDigester)
	if !ok {
		return nil, E("pfs.LeafDigests", w.outer, Unsupported, nil)
	}
	ds, err := c.LeafDigests(ctx, size, first, n)
	return ds, renamed(err, w.inner, w.outer)
}
