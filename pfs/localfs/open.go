package localfs

import (
	"context"
	"io"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Stat describes name.
func (f *FS) Stat(ctx context.Context, name pfs.Path) (info pfs.Info, err error) {
	err = f.at(ctx, "localfs.Stat", name, func(d dir, base string) error {
		info, err = f.describe(d, base, name)
		return err
	})
	return info, err
}

// describe returns the complete Info of base.
func (f *FS) describe(d dir, base string, name pfs.Path) (pfs.Info, error) {
	st, err := d.stat(base, false)
	if err != nil {
		return pfs.Info{}, err
	}
	info, err := f.entryInfo(d, base, name, st)
	if m, ok := f.markOf(d, base, st, make([]byte, digest.MaxMark)); ok {
		info.Digest = m.Digest
	}
	return info, err
}

// entryInfo returns the Info that needs no open file.
func (f *FS) entryInfo(d dir, base string, name pfs.Path, st stat) (info pfs.Info, err error) {
	info = f.info(name, st)
	if info.IsLink() {
		info.Target, err = d.readlink(base)
	}
	return info, err
}

// file is a File. It reads one inode, which a Commit or Rename over its name does not change.
type file struct {
	fs   *FS
	name pfs.Path
	file *os.File
	from stat // at the open
	info pfs.Info
}

var _ pfs.File = (*file)(nil)

// Open opens name for reading.
func (f *FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	return f.openFile(ctx, "localfs.Open", name)
}

// openFile is Open for other operations.
func (f *FS) openFile(ctx context.Context, op string, name pfs.Path) (opened *file, err error) {
	err = f.at(ctx, op, name, func(d dir, base string) error {
		h, st, err := f.openRegular(d, base, op, name, os.O_RDONLY)
		if err != nil {
			return err
		}
		opened = &file{fs: f, name: name, file: h, from: st, info: f.info(name, st)}
		if m, ok := f.readMark(h, st); ok {
			opened.info.Digest = m.Digest
		}
		return nil
	})
	return opened, err
}

// openRegular opens base if it is a regular file. It checks before the open, so that a device is
// not touched, and after it, in case the name was replaced.
func (f *FS) openRegular(d dir, base, op string, name pfs.Path, flag int) (*os.File, stat, error) {
	st, err := f.look(d, base)
	if err == nil {
		err = rules.Open(op, name, st.mode)
	}
	if err != nil {
		return nil, stat{}, err
	}
	h, err := d.openFile(base, flag, 0)
	if err != nil {
		return nil, stat{}, err
	}
	st, err = statFile(h)
	if err == nil {
		err = rules.Open(op, name, st.mode)
	}
	if err != nil {
		h.Close()
		return nil, stat{}, err
	}
	return h, st, nil
}

func (r *file) Info() pfs.Info { return r.info }

func (r *file) Close() error { return closeFile("localfs.File.Close", r.name, r.file) }

// closeFile closes h. A second call is not an error.
func closeFile(op string, name pfs.Path, h *os.File) error {
	if err := fail(op, name, h.Close()); err != nil && pfs.KindOf(err) != pfs.Closed {
		return err
	}
	return nil
}

// StoreFile is that of a handle: a file is read by the kernel only if all who change it may be.
func (r *file) StoreFile() *os.File {
	p, _, err := r.fs.parentPlace(r.name)
	if err != nil {
		return nil
	}
	defer p.dir.Close()
	if len(p.trees) > 0 {
		return nil
	}
	return r.file
}

// ReadAt returns Conflict if the file was changed in place since it was opened, because the bytes
// would come from two versions.
func (r *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.File.ReadAt"
	n, err := readAt(ctx, op, r.name, r.file, p, off)
	if err != nil && err != io.EOF {
		return n, err
	}
	now, failed := statFile(r.file)
	if failed != nil {
		return 0, fail(op, r.name, failed)
	}
	if !r.from.unchanged(now) {
		return 0, pfs.Errorf(op, r.name, pfs.Conflict, "it was written to while it was read: open it again")
	}
	return n, err
}

// readAt reads h in chunks.
func readAt(ctx context.Context, op string, name pfs.Path, h *os.File, p []byte, off int64) (int, error) {
	return pfs.InChunks(ctx, op, name, p, off, func(p []byte, off int64) (int, error) {
		n, err := readSparse(h, p, off)
		if err != io.EOF {
			err = fail(op, name, err)
		}
		return n, err
	})
}
