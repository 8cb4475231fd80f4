package localfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// handle is an open file that is changed in place. Its descriptor binds it to the file.
type handle struct {
	rules.Handle
	fs    *FS
	file  *os.File
	from  stat // identity of file
	trees []*tree

	unmark sync.Once // before the first change

	mu       sync.Mutex // guards the following
	nameless *claim     // of a file that has left all trees, until the handle ends
	had      int64      // size of that file before
}

var _ pfs.Handle = (*handle)(nil)

// OpenHandle opens the file name. The first change through the handle drops the file's stored
// digest.
func (f *FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := f.openHandle(ctx, "localfs.OpenHandle", name, flags, perm)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (f *FS) openHandle(ctx context.Context, op string, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (*handle, error) {
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	h := &handle{Handle: rules.Handle{Name: name, Flags: flags}, fs: f}
	var err error
	if flags&pfs.OpenWrite == 0 { // reading needs no quota
		err = f.at(ctx, op, name, func(d dir, base string) error { return h.open(ctx, op, place{dir: d}, base, perm) })
	} else {
		err = f.change(ctx, op, name, func(p place, base string) error { return h.open(ctx, op, p, base, perm) })
	}
	if err != nil {
		return nil, err
	}
	if flags&pfs.OpenTruncate != 0 {
		if err := h.truncate(ctx, 0); err != nil {
			h.Close(ctx)
			return nil, fail(op, name, err)
		}
	}
	return h, nil
}

// Adopt returns a handle for file, which another process has opened as name by OpenHandle with flags, outside
// all quotas (StoreFile). It takes file over.
func (f *FS) Adopt(file *os.File, name pfs.Path, flags pfs.OpenFlags) (pfs.Handle, error) {
	h := &handle{Handle: rules.Handle{Name: name, Flags: flags}, fs: f, file: file}
	var err error
	if h.from, err = statFile(file); err != nil {
		file.Close()
		return nil, fail("localfs.Adopt", name, err)
	}
	return h, nil
}

// open opens base, or makes it.
func (h *handle) open(ctx context.Context, op string, p place, base string, perm fs.FileMode) (err error) {
	h.trees = p.trees
	for {
		if h.Flags&pfs.OpenExclusive == 0 {
			h.file, h.from, err = h.fs.openRegular(p.dir, base, op, h.Name, h.systemFlags())
			switch {
			case kindOf(err) == pfs.Unsupported:
				return pfs.E(op, h.Name, pfs.Invalid, errors.Unwrap(err))
			case !missing(err) || h.Flags&pfs.OpenCreate == 0:
				return err
			}
		}
		err = h.make(ctx, p, base, perm)
		if kindOf(err) != pfs.Exist || h.Flags&pfs.OpenExclusive != 0 {
			return err
		}
		// Another process has just made it.
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// make makes the file base.
func (h *handle) make(ctx context.Context, p place, base string, perm fs.FileMode) error {
	err := h.fs.makeName(ctx, p, base, 0, func() (err error) {
		h.file, err = p.dir.openFile(base, h.systemFlags()|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err == nil {
		err = h.file.Chmod(perm.Perm()) // regardless of the umask
	}
	if err == nil {
		h.from, err = statFile(h.file)
	}
	if err != nil && h.file != nil {
		h.file.Close()
	}
	return err
}

// systemFlags returns the flags for the system's open.
func (h *handle) systemFlags() int {
	flags := os.O_RDWR
	switch h.Flags & (pfs.OpenRead | pfs.OpenWrite) {
	case pfs.OpenRead:
		flags = os.O_RDONLY
	case pfs.OpenWrite:
		flags = os.O_WRONLY
	}
	if h.Flags&pfs.OpenAppend != 0 {
		flags |= os.O_APPEND
	}
	return flags
}

// StoreFile returns the open file for a kernel that reads and writes it itself, or nil if each write must be
// counted for a quota.
func (h *handle) StoreFile() *os.File {
	if len(h.trees) > 0 {
		return nil
	}
	if h.Flags&pfs.OpenWrite != 0 {
		h.unmark.Do(func() { h.fs.removeMark(h.file) })
	}
	return h.file
}

func (h *handle) Stat(ctx context.Context) (pfs.Info, error) {
	const op = "localfs.Handle.Stat"
	if err := h.Check(ctx, op, 0); err != nil {
		return pfs.Info{}, err
	}
	info, err := h.stat()
	return info, fail(op, h.Name, err)
}

// stat describes the file in its current state.
func (h *handle) stat() (pfs.Info, error) {
	st, err := statFile(h.file)
	if err != nil {
		return pfs.Info{}, err
	}
	info := h.fs.info(h.Name, st)
	if m, ok := h.fs.readMark(h.file, st); ok {
		info.Digest = m.Digest
	}
	return info, nil
}

func (h *handle) Close(context.Context) error {
	h.End()
	err := closeFile("localfs.Handle.Close", h.Name, h.file)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nameless != nil {
		h.nameless.release()
	}
	return err
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.Handle.ReadAt"
	if err := h.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	return readAt(ctx, op, h.Name, h.file, p, off)
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.Handle.WriteAt"
	return pfs.InChunks(ctx, op, h.Name, p, off, func(p []byte, off int64) (n int, err error) {
		if err := h.Check(ctx, op, pfs.OpenWrite); err != nil {
			return 0, err
		}
		if h.Flags&pfs.OpenAppend != 0 {
			off = -1
		}
		err = h.change(ctx, off, int64(len(p)), func() (err error) {
			if off < 0 {
				n, err = h.file.Write(p)
			} else {
				n, err = h.file.WriteAt(p, off)
			}
			return err
		})
		return n, fail(op, h.Name, err)
	})
}

// Truncate makes the file size bytes long.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "localfs.Handle.Truncate"
	if err := h.CheckTruncate(ctx, op, size); err != nil {
		return err
	}
	return fail(op, h.Name, h.truncate(ctx, size))
}

func (h *handle) truncate(ctx context.Context, size int64) error {
	return h.change(ctx, size, 0, func() error { return h.file.Truncate(size) })
}

// Allocate reserves disk space for n bytes at offset off.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "localfs.Handle.Allocate"
	if err := h.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return fail(op, h.Name, h.change(ctx, off, n, func() error { return reserve(h.file, off, n) }))
}

// Sync makes the written bytes durable.
func (h *handle) Sync(ctx context.Context) error {
	const op = "localfs.Handle.Sync"
	if err := h.Check(ctx, op, 0); err != nil {
		return err
	}
	return fail(op, h.Name, h.fs.sync(h.file))
}

// SetAttr sets attributes of the file. They are durable after Sync.
func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "localfs.Handle.SetAttr"
	if err := h.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	c, err := newChange(op, h.Name, mask, attrs)
	if err != nil {
		return err
	}
	return fail(op, h.Name, h.setAttr(ctx, c))
}

// setAttr sets the size first, because that changes the times.
func (h *handle) setAttr(ctx context.Context, c change) error {
	if c.mask&pfs.AttrSize != 0 {
		if !setsOpenTimes && !(c.atime.IsZero() && c.mtime.IsZero()) {
			return errors.ErrUnsupported
		}
		if err := h.truncate(ctx, c.attrs.Size); err != nil {
			return err
		}
	}
	return h.fs.apply(c, openNode{h.file}, h.file)
}

// change performs a write of n bytes at off, or at the end of the file if off is negative, within
// the quotas.
func (h *handle) change(ctx context.Context, off, n int64, do func() error) error {
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
	if off < 0 {
		off = before.size
	}
	if before.links == 0 {
		return h.changeNameless(before.size, off+n, do)
	}
	c, err := h.fs.claim(ctx, h.trees, max(0, off+n-before.size), 0)
	if err != nil {
		return err
	}
	defer c.release()
	err = do()
	after, failed := statFile(h.file)
	if failed == nil {
		c.book(sums{bytes: after.size - before.size})
	}
	return errors.Join(err, failed)
}

// changeNameless is change for a file of size bytes that was removed or replaced. No walk finds
// such a file, so a claim counts its growth until the handle ends.
func (h *handle) changeNameless(size, end int64, do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Ended() { // otherwise the claim would never be released
		return pfs.Closed
	}
	if h.nameless == nil {
		h.nameless, h.had = &claim{trees: h.trees}, size
	}
	if err := h.nameless.reach(need{limits: limits{bytes: end - h.had}}); err != nil {
		return err
	}
	return do()
}
