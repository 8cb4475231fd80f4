package aferofs

import (
	"context"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// content is the content of an open file: a pfs.Handle, a staging, or a reading.
type content interface {
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	WriteAt(ctx context.Context, p []byte, off int64) (int, error)
	Truncate(ctx context.Context, size int64) error
	Sync(ctx context.Context) error
	Stat(ctx context.Context) (pfs.Info, error)
	Close(ctx context.Context) error
}

// reading is a file open for reading.
type reading struct{ pfs.File }

func (reading) WriteAt(context.Context, []byte, int64) (int, error) { return 0, fs.ErrPermission }
func (reading) Truncate(context.Context, int64) error               { return fs.ErrPermission }
func (reading) Sync(context.Context) error                          { return nil }
func (r reading) Stat(context.Context) (pfs.Info, error)            { return r.Info(), nil }
func (r reading) Close(context.Context) error                       { return r.File.Close() }

// treeFile gives a content an offset. It does one call at a time.
type treeFile struct {
	ctx    context.Context
	name   string
	append bool // every Write is at the end

	mu     sync.Mutex
	c      content
	off    int64
	closed bool
}

var _ afero.File = (*treeFile)(nil)

// do calls f with the file locked and open.
func (f *treeFile) do(op string, call func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if err := call(); err != io.EOF {
		return pathError(op, f.name, err)
	}
	return io.EOF
}

func (f *treeFile) Name() string { return f.name }

func (f *treeFile) Read(p []byte) (n int, err error) {
	err = f.do("read", func() (err error) {
		if len(p) == 0 {
			return nil
		}
		n, err = f.c.ReadAt(f.ctx, p, f.off)
		f.off += int64(n)
		if n > 0 && err == io.EOF {
			return nil // the next Read returns it
		}
		return err
	})
	return n, err
}

func (f *treeFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("read", func() (err error) { n, err = f.c.ReadAt(f.ctx, p, off); return err })
	return n, err
}

func (f *treeFile) Write(p []byte) (n int, err error) {
	err = f.do("write", func() (err error) {
		if f.append {
			info, err := f.c.Stat(f.ctx)
			if err != nil {
				return err
			}
			f.off = info.Size
		}
		n, err = f.c.WriteAt(f.ctx, p, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

func (f *treeFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do("write", func() (err error) { n, err = f.c.WriteAt(f.ctx, p, off); return err })
	return n, err
}

func (f *treeFile) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

func (f *treeFile) Seek(offset int64, whence int) (off int64, err error) {
	err = f.do("seek", func() error {
		switch whence {
		case io.SeekStart:
		case io.SeekCurrent:
			offset += f.off
		case io.SeekEnd:
			info, err := f.c.Stat(f.ctx)
			if err != nil {
				return err
			}
			offset += info.Size
		default:
			return fs.ErrInvalid
		}
		if offset < 0 {
			return fs.ErrInvalid
		}
		f.off = offset
		return nil
	})
	return f.off, err
}

func (f *treeFile) Truncate(size int64) error {
	return f.do("truncate", func() error { return f.c.Truncate(f.ctx, size) })
}

func (f *treeFile) Sync() error { return f.do("sync", func() error { return f.c.Sync(f.ctx) }) }

func (f *treeFile) Stat() (fi os.FileInfo, err error) {
	err = f.do("stat", func() error {
		info, err := f.c.Stat(f.ctx)
		fi = fileInfo{info}
		return err
	})
	return fi, err
}

func (f *treeFile) Close() error {
	return f.do("close", func() error {
		f.closed = true
		return f.c.Close(f.ctx)
	})
}

func (f *treeFile) Readdir(int) ([]os.FileInfo, error) {
	return nil, pathError("readdir", f.name, pfs.NotDir)
}

func (f *treeFile) Readdirnames(int) ([]string, error) {
	return nil, pathError("readdir", f.name, pfs.NotDir)
}
