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

// layerHandle is a Handle of a Layer. Its errors carry the path that the caller used.
type layerHandle struct {
	Handle
	layer        *Layer
	inner, outer Path
}

func (h *layerHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := h.Handle.ReadAt(ctx, p, off)
	return n, renamed(err, h.inner, h.outer)
}

func (h *layerHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := h.Handle.WriteAt(ctx, p, off)
	return n, renamed(err, h.inner, h.outer)
}

func (h *layerHandle) Truncate(ctx context.Context, size int64) error {
	return renamed(h.Handle.Truncate(ctx, size), h.inner, h.outer)
}

func (h *layerHandle) Allocate(ctx context.Context, off, n int64) error {
	return renamed(h.Handle.Allocate(ctx, off, n), h.inner, h.outer)
}

func (h *layerHandle) Sync(ctx context.Context) error {
	return renamed(h.Handle.Sync(ctx), h.inner, h.outer)
}

func (h *layerHandle) Stat(ctx context.Context) (Info, error) {
	info, err := h.Handle.Stat(ctx)
	if err == nil {
		info.Name = h.outer.Base()
	}
	return info, renamed(err, h.inner, h.outer)
}

// SetAttr needs the same accesses as SetAttr of the Layer, because even a handle that is open for
// reading may set attributes.
func (h *layerHandle) SetAttr(ctx context.Context, mask AttrMask, attrs Attrs) error {
	a, more := mask.access(attrs)
	err := h.layer.one(ctx, "pfs.SetAttr", a, h.outer, func(FileSystem, Path) error { return nil }, more...)
	if err != nil {
		return err
	}
	return renamed(h.Handle.SetAttr(ctx, mask, attrs), h.inner, h.outer)
}

func (h *layerHandle) Close(ctx context.Context) error {
	return renamed(h.Handle.Close(ctx), h.inner, h.outer)
}
