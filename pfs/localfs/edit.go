package localfs

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// handle is a file that is changed in place.
type handle struct {
	fs    *FS
	name  pfs.Path
	file  *os.File
	from  stat // identity of file
	trees []*tree

	unmark sync.Once // before the first change

	mu       sync.Mutex // of the following
	nameless *claim     // of a file that no tree counts any more, until the handle ends
	had      int64      // bytes of that file before
}

var _ pfs.Edited = (*handle)(nil)

// Edit opens the existing file name for changes in place. The first change drops
// the digest that is kept with it.
func (f *FS) Edit(ctx context.Context, name pfs.Path) (pfs.Edited, error) {
	const op = "localfs.Edit"
	h := &handle{fs: f, name: name}
	err := f.change(ctx, op, name, func(p place, base string) (err error) {
		h.trees = p.trees
		h.file, h.from, err = f.openRegular(p.dir, base, op, name, os.O_RDWR)
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Info describes the file as it is now, or as it was last if it cannot be asked.
func (h *handle) Info() pfs.Info {
	st, err := statFile(h.file)
	if err != nil {
		return pfs.Info{Name: h.name.Base()}
	}
	info := h.fs.info(h.name, st)
	if m, ok := h.fs.readMark(h.file, st); ok {
		info.Digest = m.Digest
	}
	return info
}

func (h *handle) Close() error {
	err := closeFile("localfs.Handle.Close", h.name, h.file)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nameless != nil {
		h.nameless.release()
	}
	return err
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return readAt(ctx, "localfs.Handle.ReadAt", h.name, h.file, p, off)
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "localfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, h.name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := pfs.CheckContext(ctx, op, h.name); err != nil {
			return n, err
		}
		chunk := p[n:min(len(p), n+pfs.ChunkSize)]
		at := off + int64(n)
		k := 0
		err := h.change(ctx, at+int64(len(chunk)), func() (err error) {
			k, err = h.file.WriteAt(chunk, at)
			return err
		})
		n += k
		if err != nil || n == len(p) {
			return n, fail(op, h.name, err)
		}
	}
}

// Truncate makes the file size bytes long.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "localfs.Handle.Truncate"
	if size < 0 {
		return pfs.Errorf(op, h.name, pfs.Invalid, "negative size %d", size)
	}
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	return fail(op, h.name, h.change(ctx, size, func() error { return h.file.Truncate(size) }))
}

// Sync returns when what was written survives a crash of the machine.
func (h *handle) Sync(ctx context.Context) error {
	const op = "localfs.Handle.Sync"
	if err := pfs.CheckContext(ctx, op, h.name); err != nil {
		return err
	}
	if _, err := h.file.Stat(); err != nil { // which a sync that is left out would not tell
		return fail(op, h.name, err)
	}
	return fail(op, h.name, h.fs.sync(h.file))
}

// change does what may lengthen the file to end, within the quotas.
func (h *handle) change(ctx context.Context, end int64, do func() error) error {
	h.unmark.Do(func() { h.fs.removeMark(h.file) })
	if len(h.trees) == 0 {
		return do()
	}
	if err := h.fs.ready(ctx, h.trees); err != nil {
		return err
	}
	defer h.fs.quotas.slots.Lock(slot.compare, fileSlot(h.from))()
	before, err := statFile(h.file)
	if err != nil {
		return err
	}
	if before.links == 0 {
		return h.changeNameless(before.size, end, do)
	}
	c, err := h.fs.claim(ctx, h.trees, max(0, end-before.size), 0)
	if err != nil {
		return err
	}
	defer c.release()
	err = do()
	after, failed := statFile(h.file)
	if failed == nil {
		c.settle(sums{bytes: after.size - before.size})
	}
	return errors.Join(err, failed)
}

// changeNameless is change of a file of size bytes that was removed or replaced. No walk
// finds it: what it grows by takes room until the handle ends.
func (h *handle) changeNameless(size, end int64, do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.file.Stat(); err != nil { // it was closed, and nobody would release the claim
		return err
	}
	if h.nameless == nil {
		h.nameless, h.had = &claim{trees: h.trees}, size
	}
	if err := h.nameless.reach(need{limits: limits{bytes: end - h.had}}); err != nil {
		return err
	}
	return do()
}
