package stagefs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// handle is one open handle of a file.
type handle struct {
	rules.Handle
	f    *file
	made bool // the file was made by this open
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "stagefs.Handle.ReadAt"
	if err := pfs.CheckRange(op, h.Name, off, len(p)); err != nil {
		return 0, err
	}
	if err := h.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	if n, err, ok := h.f.readStaged(op, h.Name, p, off); ok {
		return n, err
	}
	if err := h.f.lock(ctx); err != nil {
		return 0, err
	}
	defer h.f.unlock()
	if n, err, ok := h.f.readStaged(op, h.Name, p, off); ok {
		return n, err
	}
	if err := h.f.sync(ctx, false); err != nil {
		return 0, err
	}
	return h.f.store.ReadAt(ctx, p, off)
}

// readStaged reads the staged content; ok is false if there is none.
func (fl *file) readStaged(op string, name pfs.Path, p []byte, off int64) (n int, err error, ok bool) {
	fl.mu.RLock()
	defer fl.mu.RUnlock()
	if fl.stage == nil {
		return 0, nil, false
	}
	n, err = fl.stage.read(op, name, p, off)
	return n, err, true
}

// change calls do with exclusive use of the file, if the handle is open for need.
func (h *handle) change(ctx context.Context, op string, need pfs.OpenFlags, do func() error) error {
	if err := h.Check(ctx, op, need); err != nil {
		return err
	}
	if err := h.f.lock(ctx); err != nil {
		return err
	}
	defer h.f.unlock()
	if err := h.Check(ctx, op, need); err != nil {
		return err
	}
	return do()
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "stagefs.Handle.WriteAt"
	if err := pfs.CheckRange(op, h.Name, off, len(p)); err != nil {
		return 0, err
	}
	err = h.change(ctx, op, pfs.OpenWrite, func() (err error) {
		if len(p) > 0 {
			n, err = h.f.write(ctx, op, p, off, h.Flags&pfs.OpenAppend != 0, h.made)
		}
		return err
	})
	return n, err
}

func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "stagefs.Handle.Truncate"
	if err := h.CheckTruncate(ctx, op, size); err != nil {
		return err
	}
	return h.change(ctx, op, pfs.OpenWrite, func() error { return h.f.truncate(ctx, op, size) })
}

// Allocate answers Unsupported: the space is needed on the store.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "stagefs.Handle.Allocate"
	if err := h.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return pfs.Errorf(op, h.Name, pfs.Unsupported, "the store reserves no space for a file")
}

func (h *handle) Sync(ctx context.Context) error {
	return h.change(ctx, "stagefs.Handle.Sync", 0, func() error { return h.f.sync(ctx, false) })
}

// Flush is Sync before Close, for a file whose writers are done. If the upload fails, it is retried later, also by
// another process.
func (h *handle) Flush(ctx context.Context) error {
	return h.change(ctx, "stagefs.Handle.Flush", 0, func() error { return h.f.sync(ctx, h.Flags&pfs.OpenWrite != 0) })
}

func (h *handle) Stat(ctx context.Context) (info pfs.Info, err error) {
	const op = "stagefs.Handle.Stat"
	if err := h.Check(ctx, op, 0); err != nil {
		return pfs.Info{}, err
	}
	fl := h.f
	info, staged := fl.statStaged()
	if !staged {
		err = h.change(ctx, op, 0, func() (err error) {
			if info, staged = fl.statStaged(); staged {
				return nil
			}
			info, err = fl.store.Stat(ctx)
			fl.id, fl.block = info.ID, info.BlockSize
			info.ID = fl.fs.ids.shown(info.ID)
			return err
		})
	}
	if fl.fs.nameOf(fl) == "" {
		info.Links = 0
	}
	info.Name = h.Name.Base()
	return info, err
}

// statStaged describes the staged content; ok is false if there is none.
func (fl *file) statStaged() (info pfs.Info, ok bool) {
	fl.mu.RLock()
	defer fl.mu.RUnlock()
	if fl.stage == nil {
		return info, false
	}
	return fl.stage.describe(fl.stage.Base), true
}

func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "stagefs.Handle.SetAttr"
	if err := h.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	return h.change(ctx, op, 0, func() error { return h.f.setAttr(ctx, mask, attrs) })
}

// Close uploads changes. If the upload fails, it is retried later.
func (h *handle) Close(ctx context.Context) error {
	if !h.End() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	fl := h.f
	defer fl.fs.release(fl)
	_ = fl.lock(ctx) // it cannot fail
	defer fl.unlock()
	var err error
	if h.Flags&pfs.OpenWrite != 0 {
		err = fl.sync(ctx, true)
	}
	fl.handles--
	if fl.handles+fl.unclaimed > 0 {
		fl.leave()
		return err
	}
	if fl.store != nil {
		if closing := fl.store.Close(ctx); err == nil {
			err = closing
		}
		fl.store, fl.rights = nil, 0
		fl.setEnd(-1, false)
		fl.setTail(nil)
	}
	if fl.stage != nil && (!fl.stage.dirty || fl.fs.nameOf(fl) == "") {
		fl.drop()
	}
	return err
}
