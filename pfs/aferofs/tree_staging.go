package aferofs

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// staging is a file that Close publishes.
type staging struct {
	w      pfs.Staged
	commit pfs.CommitOptions // the size is the current one; all staged bytes after it are zero
	name   string
	began  time.Time
	err    error // of the first write that failed
}

func (s *staging) Stat(context.Context) (pfs.Info, error) {
	return pfs.Info{Name: s.name, Size: s.commit.Size, Mode: s.commit.Perm(), ModTime: s.began}, nil
}

func (s *staging) Sync(ctx context.Context) error { return s.w.Sync(ctx) }

// ReadAt reads back written bytes. Gaps between writes read as zeros.
func (s *staging) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off >= s.commit.Size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), s.commit.Size-off)]
	n, err := s.w.ReadAt(ctx, want, off)
	if err != nil && err != io.EOF {
		return n, err
	}
	clear(want[n:])
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// WriteAt stages p. After a failure the file is not published: it may lack bytes.
func (s *staging) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	n, err = s.w.WriteAt(ctx, p, off)
	if n > 0 {
		s.commit.Size = max(s.commit.Size, off+int64(n))
	}
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Truncate overwrites the bytes that it cuts off with zeros, so that they do not appear again when
// the file is extended.
func (s *staging) Truncate(ctx context.Context, size int64) (err error) {
	if size < 0 {
		return fs.ErrInvalid
	}
	old := s.commit.Size
	zeros := make([]byte, max(1, min(old-size, pfs.ChunkSize)))
	if size > old {
		_, err = s.WriteAt(ctx, zeros, size-1)
	}
	for off := size; off < old && err == nil; off += int64(len(zeros)) {
		_, err = s.WriteAt(ctx, zeros[:min(int64(len(zeros)), old-off)], off)
	}
	if err == nil {
		s.commit.Size = size
	}
	return err
}

// Close publishes the file if all of it was written.
func (s *staging) Close(ctx context.Context) error {
	defer s.w.Close(ctx)
	if s.err != nil {
		return s.err
	}
	_, err := s.w.Commit(ctx, s.commit)
	return err
}
