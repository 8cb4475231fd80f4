//go:build ceph

package cephfs

import (
	"context"
	"io"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// file is a File. It reads one inode, which a Commit or Rename over its name does not change while
// the mount lasts.
type file struct {
	fs   FS
	name pfs.Path
	from stat // at the open
	info pfs.Info
	opened
	ahead readAhead
}

var _ pfs.File = (*file)(nil)

// readOp is the Op of read errors.
const readOp = "cephfs.File.ReadAt"

// Open opens name for reading.
func (f FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	r, err := f.openFile(ctx, "cephfs.Open", name)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openFile is Open for other operations.
func (f FS) openFile(ctx context.Context, op string, name pfs.Path) (*file, error) {
	return at(ctx, f, op, name, func(d *dir, base string) (*file, error) {
		h, st, err := d.openRegular(base, op, name, syscall.O_RDONLY)
		if err != nil {
			return nil, err
		}
		r := &file{fs: f, name: name, from: st, info: st.info(name)}
		if m, ok := h.mark(d.c, st); ok {
			r.info.Digest = m.Digest
		}
		r.h, r.again, r.ahead.f = h, r.openAgain, r
		return r, nil
	}, func(r *file) { r.close().drop() })
}

// openRegular opens base if it is a regular file, and describes the opened file.
func (d *dir) openRegular(base, op string, name pfs.Path, flags int) (*handle, stat, error) {
	st, err := d.stat(base)
	if err == nil {
		err = rules.Open(op, name, st.mode)
	}
	if err != nil {
		return nil, stat{}, err
	}
	h, st, err := d.openAs(base, flags)
	if err == nil {
		err = rules.Open(op, name, st.mode)
		if err != nil {
			h.drop()
		}
	}
	return h, st, err
}

// openAgain opens the file on another mount, under its current name.
func (r *file) openAgain(c *call) (*handle, error) {
	return c.openInode(r.name, r.from, syscall.O_RDONLY, errReplaced)
}

var (
	errReplaced = pfs.Errorf(readOp, "", pfs.Conflict, "it was removed, and its connection is lost: open it again")
	errChanged  = pfs.Errorf(readOp, "", pfs.Conflict, "it was written to while it was read: open it again")
)

func (r *file) Info() pfs.Info { return r.info }

// Close releases the file. It does not wait for the cluster: nothing was written.
func (r *file) Close() error {
	r.ahead.close()
	go closeHandle(context.Background(), r.fs, r.opened.close())
	return nil
}

// closeHandle closes h, if it is not nil, even if ctx is done. If the cluster does not answer it
// returns, and a goroutine completes the close.
func closeHandle(ctx context.Context, f FS, h *handle) error {
	if h == nil {
		return nil
	}
	_, err := run(context.WithoutCancel(ctx), f, func(*call) (struct{}, error) { return struct{}{}, h.close() }, nil)
	return err
}

// ReadAt returns Conflict if the file was changed in place since it was opened, because the bytes
// would come from two versions. Sequential reads are served from the bytes read ahead.
func (r *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	if err := pfs.CheckContext(ctx, readOp, r.name); err != nil {
		return 0, err
	}
	r.ahead.expect(off, int64(len(p)))
	for n < len(p) {
		k, ok := r.ahead.read(ctx, p[n:], off+int64(n))
		if !ok {
			break
		}
		n += k
	}
	if n == len(p) && n > 0 {
		return n, nil
	}
	k, err := r.readNow(ctx, p[n:], off+int64(n))
	return n + k, err
}

// readNow reads from the cluster.
func (r *file) readNow(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := r.reads().at(ctx, p, off)
	if err == io.EOF && n < len(p) && off+int64(n) < r.from.size {
		return n, pfs.Errorf(readOp, r.name, pfs.Integrity, "the store has only %d of its %d bytes", off+int64(n), r.from.size)
	}
	return n, err
}

// readInto reads all of p from the cluster. After an error p may still be written to for a while.
func (r *file) readInto(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := r.reads().block(ctx, p, off)
	if err == nil && n < len(p) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// reads returns the way to read the file.
func (r *file) reads() reads { return reads{r.fs, readOp, r.name, &r.opened, r.unchanged} }

// unchanged returns Conflict if the file was changed in place.
func (r *file) unchanged(c *call, h *handle) error {
	now, err := h.stat(c)
	if err == nil && !r.from.unchanged(now) {
		err = errChanged
	}
	return err
}
