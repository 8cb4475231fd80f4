package aferofs

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// reading is a file open for reading.
type reading struct {
	ctx context.Context
	f   pfs.File
}

func (r reading) readAt(p []byte, off int64) (int, error) { return r.f.ReadAt(r.ctx, p, off) }
func (r reading) writeAt([]byte, int64) (int, error)      { return 0, fs.ErrPermission }
func (r reading) truncate(int64) error                    { return fs.ErrPermission }
func (r reading) sync() error                             { return nil }
func (r reading) info() (pfs.Info, error)                 { return r.f.Info(), nil }
func (r reading) close() error                            { return r.f.Close() }

// editing is a file open for changes in place.
type editing struct {
	ctx context.Context
	h   pfs.Handle
}

func (e editing) readAt(p []byte, off int64) (int, error)  { return e.h.ReadAt(e.ctx, p, off) }
func (e editing) writeAt(p []byte, off int64) (int, error) { return e.h.WriteAt(e.ctx, p, off) }
func (e editing) truncate(size int64) error                { return e.h.Truncate(e.ctx, size) }
func (e editing) sync() error                              { return e.h.Sync(e.ctx) }
func (e editing) info() (pfs.Info, error)                  { return e.h.Stat(e.ctx) }
func (e editing) close() error                             { return e.h.Close(e.ctx) }

// staging is a file that close will publish.
type staging struct {
	ctx    context.Context
	w      pfs.Staged
	commit pfs.CommitOptions
	name   string
	began  time.Time
	size   int64 // length of the file to be
	end    int64 // of what was ever staged; between size and end is what was cut off
	err    error // of the first write that failed
}

func newStaging(ctx context.Context, p pfs.Path, w pfs.Staged, commit pfs.CommitOptions) *staging {
	return &staging{ctx: ctx, w: w, commit: commit, name: p.Base(), began: time.Now()}
}

func (s *staging) info() (pfs.Info, error) {
	return pfs.Info{Name: s.name, Size: s.size, Mode: s.commit.Perm(), ModTime: s.began}, nil
}

func (s *staging) sync() error { return s.w.Sync(s.ctx) }

// readAt reads back what was written. What lies between two writes reads as zeros.
func (s *staging) readAt(p []byte, off int64) (int, error) {
	if off >= s.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), s.size-off)]
	n, err := s.w.ReadAt(s.ctx, want, off)
	if err != nil && err != io.EOF {
		return n, err
	}
	clear(want[n:])
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

func (s *staging) writeAt(p []byte, off int64) (int, error) {
	if err := s.wipe(off); err != nil {
		return 0, err
	}
	return s.stage(p, off)
}

// truncate shortens or lengthens the file to be.
func (s *staging) truncate(size int64) error {
	if size < 0 {
		return fs.ErrInvalid
	}
	if err := s.wipe(size); err != nil {
		return err
	}
	if size > s.end {
		_, err := s.stage([]byte{0}, size-1)
		return err
	}
	s.size = size
	return nil
}

// wipe makes zeros of what was cut off earlier and would show again when the file
// is lengthened to reach the offset to.
func (s *staging) wipe(to int64) error {
	zeros := make([]byte, max(0, min(to, s.end, s.size+pfs.ChunkSize)-s.size))
	for s.size < min(to, s.end) {
		n := min(int64(len(zeros)), min(to, s.end)-s.size)
		if _, err := s.stage(zeros[:n], s.size); err != nil {
			return err
		}
	}
	return nil
}

// stage writes p in pieces of at most a chunk. After a failure the file will not
// be published: it may have lost something.
func (s *staging) stage(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = s.w.WriteAt(s.ctx, p[n:min(len(p), n+pfs.ChunkSize)], off+int64(n))
		n += k
		s.size = max(s.size, off+int64(n))
		s.end = max(s.end, s.size)
	}
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// close publishes the file if all of it was written.
func (s *staging) close() error {
	defer s.w.Close(s.ctx)
	if s.err != nil {
		return s.err
	}
	s.commit.Size = s.size
	_, err := s.w.Commit(s.ctx, s.commit)
	return err
}
