package pfs

import (
	"context"
)

// layerFile is a File whose errors carry the path that the caller used.
type layerFile struct {
	File
	inner, outer Path
}

func (f layerFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	return n, renamed(err, f.inner, f.outer)
}

func (f layerFile) Close() error { return renamed(f.File.Close(), f.inner, f.outer) }

func (f layerFile) Info() Info {
	info := f.File.Info()
	info.Name = f.outer.Base()
	return info
}

// layerHandle is a Edited whose errors carry the path that the caller used.
type layerHandle struct {
	Edited
	inner, outer Path
}

func (h layerHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := h.Edited.ReadAt(ctx, p, off)
	return n, renamed(err, h.inner, h.outer)
}

func (h layerHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := h.Edited.WriteAt(ctx, p, off)
	return n, renamed(err, h.inner, h.outer)
}

func (h layerHandle) Truncate(ctx context.Context, size int64) error {
	return renamed(h.Edited.Truncate(ctx, size), h.inner, h.outer)
}

func (h layerHandle) Sync(ctx context.Context) error {
	return renamed(h.Edited.Sync(ctx), h.inner, h.outer)
}

func (h layerHandle) Close() error { return renamed(h.Edited.Close(), h.inner, h.outer) }

func (h layerHandle) Info() Info {
	info := h.Edited.Info()
	info.Name = h.outer.Base()
	return info
}
