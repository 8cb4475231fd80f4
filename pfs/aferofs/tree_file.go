package aferofs

import (
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// content is what an open file of a tree is made of.
type content interface {
	readAt(p []byte, off int64) (int, error)
	writeAt(p []byte, off int64) (int, error)
	truncate(size int64) error
	sync() error
	info() (pfs.Info, error)
	close() error
}

// treeFile gives a content a place, as afero wants it. One call at a time.
type treeFile struct {
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
		n, err = f.c.readAt(p, f.off)
		f.off += int64(n)
		if n > 0 && err == io.EOF {
			return nil // the next Read says so
		}
		return err
	})
	return n, err
}

func (f *treeFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("read", func() (err error) {
		n, err = f.c.readAt(p, off)
		return err
	})
	return n, err
}

func (f *treeFile) Write(p []byte) (n int, err error) {
	err = f.do("write", func() (err error) {
		if f.append {
			info, err := f.c.info()
			if err != nil {
				return err
			}
			f.off = info.Size
		}
		n, err = f.c.writeAt(p, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

func (f *treeFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do("write", func() (err error) {
		n, err = f.c.writeAt(p, off)
		return err
	})
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
			info, err := f.c.info()
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
	return f.do("truncate", func() error { return f.c.truncate(size) })
}

func (f *treeFile) Sync() error {
	return f.do("sync", func() error { return f.c.sync() })
}

func (f *treeFile) Stat() (fi os.FileInfo, err error) {
	err = f.do("stat", func() error {
		info, err := f.c.info()
		fi = fileInfo{info}
		return err
	})
	return fi, err
}

func (f *treeFile) Close() error {
	return f.do("close", func() error {
		f.closed = true
		return f.c.close()
	})
}

func (f *treeFile) Readdir(int) ([]os.FileInfo, error) {
	return nil, pathError("readdir", f.name, pfs.NotDir)
}

func (f *treeFile) Readdirnames(int) ([]string, error) {
	return nil, pathError("readdir", f.name, pfs.NotDir)
}
