package sftpfs

import (
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/pkg/sftp"
)

// Open opens the file name for reading.
func (s *store) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "sftpfs.Open"
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	f := &file{s: s, name: name}
	if err := s.call(ctx, op, name, func(c *connection) error { return f.open(c, op) }); err != nil {
		return nil, err
	}
	return f, nil
}

// file is a file open for reading.
type file struct {
	s    *store
	name pfs.Path
	info pfs.Info

	mu     sync.Mutex
	c      *connection // of f
	f      *sftp.File
	closed bool
}

// open opens the file on the connection c.
func (f *file) open(c *connection, op string) error {
	info, err := f.s.find(c, op, f.name)
	if err == nil {
		err = rules.Open(op, f.name, info.Mode)
	}
	if err != nil {
		return err
	}
	opened, err := c.Open(f.s.at(f.name))
	if err != nil {
		return err
	}
	now, err := opened.Stat() // the file may have been replaced meanwhile
	if err != nil {
		opened.Close()
		return err
	}
	f.c, f.f, f.info = c, opened, f.s.info(c, f.name, attrs(now))
	return nil
}

func (f *file) Info() pfs.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

// on returns the file open on the connection c, and its size.
func (f *file) on(c *connection, op string) (opened *sftp.File, size int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, 0, pfs.E(op, f.name, pfs.Closed, nil)
	}
	if f.c != c {
		before := f.info
		if err := f.open(c, op); err != nil {
			return nil, 0, err
		}
		if f.info.Version != before.Version {
			f.f.Close()
			f.c, f.info = nil, before
			return nil, 0, pfs.Errorf(op, f.name, pfs.Conflict, "it was replaced while the connection was lost")
		}
	}
	return f.f, f.info.Size, nil
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "sftpfs.File.ReadAt"
	return pfs.InChunks(ctx, op, f.name, p, off, func(p []byte, off int64) (n int, err error) {
		err = f.s.call(ctx, op, f.name, func(c *connection) error {
			opened, size, err := f.on(c, op)
			if err == nil {
				n, err = readAt(opened, p, off)
			}
			if err == io.EOF && off+int64(n) < size {
				err = pfs.Errorf(op, f.name, pfs.Conflict, "it ends after %d of %d bytes: another program changes it", off+int64(n), size)
			}
			return err
		})
		return n, err
	})
}

// readAt fills p, or returns io.EOF or another error.
func readAt(f *sftp.File, p []byte, off int64) (int, error) {
	n, err := io.ReadFull(io.NewSectionReader(f, off, int64(len(p))), p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed && f.c != nil && !f.c.lost.Load() {
		f.f.Close()
	}
	f.closed = true
	return nil
}
