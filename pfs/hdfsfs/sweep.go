package hdfsfs

import (
	"context"
	"path"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Sweep removes uploads to files below dir whose last write is older than age, of all users whose
// directories the file system's user may read. It also removes the temporaries of single calls once
// no call can be using them, whatever age and dir are: the service those of all users, an owner its
// own.
func (f *FS) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "hdfsfs.Sweep"
	if _, err := f.lookDir(ctx, op, dir); err != nil {
		return 0, 0, err
	}
	sw := sweep{fs: f, op: op, dir: dir, before: time.Now().Add(-age)}
	tops, err := f.allStages(ctx)
	for _, top := range tops {
		if err == nil {
			err = sw.all(ctx, top)
		}
	}
	return sw.n, sw.bytes, fail(op, dir, err)
}

// all sweeps the uploads of all users in a directory.
func (s *sweep) all(ctx context.Context, top string) error {
	users, err := s.fs.entries(ctx, top)
	for _, user := range users {
		if err == nil {
			err = s.user(ctx, path.Join(top, user.Name))
		}
	}
	return gone(err)
}

// sweep is one Sweep.
type sweep struct {
	fs     *FS
	op     string
	dir    pfs.Path
	before time.Time
	n      int
	bytes  int64
}

// user sweeps the uploads of one user.
func (s *sweep) user(ctx context.Context, home string) error {
	all, err := s.fs.entries(ctx, home)
	if is(err, pfs.Permission, pfs.NotExist) {
		return nil
	}
	for _, st := range all {
		if err == nil {
			err = s.one(ctx, path.Join(home, st.Name), st)
		}
	}
	return err
}

// one sweeps one upload if it is old and its target is below the directory.
func (s *sweep) one(ctx context.Context, at string, st status) error {
	if err := pfs.CheckContext(ctx, s.op, s.dir); err != nil {
		return err
	}
	if since, ok := temporarySince(st.Name); ok {
		if !s.ours(at) || time.Since(since) < digest.TempAge {
			return nil
		}
		return s.remove(ctx, at, st.Size)
	}
	if st.ModTime.After(s.before) {
		return nil
	}
	if ours, err := s.below(ctx, at, st); !ours || err != nil {
		return gone(err)
	}
	bytes, fresh, err := s.content(ctx, at, st)
	if fresh || err != nil {
		return gone(err)
	}
	return s.remove(ctx, at, bytes)
}

// ours reports whether the file system may remove the temporary at a path: its own, or any
// if it is the service's.
func (s *sweep) ours(at string) bool {
	return s.fs == s.fs.service || path.Base(path.Dir(at)) == s.fs.stageUser()
}

// remove removes the path at, which has this number of bytes, and counts it.
func (s *sweep) remove(ctx context.Context, at string, bytes int64) error {
	err := s.fs.removeAll(ctx, at)
	if err == nil {
		s.n++
		s.bytes += bytes
	}
	return err
}

// gone ignores the error of an upload that another caller ended meanwhile.
func gone(err error) error {
	if is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// below reports whether the target is below the directory. An upload that does not name
// its target is swept from the root only.
func (s *sweep) below(ctx context.Context, at string, st status) (bool, error) {
	if s.dir == pfs.Root {
		return true, nil
	}
	if !st.IsDir() {
		return false, nil
	}
	m, ok, err := s.fs.stageMarkOf(ctx, at)
	return ok && m.name.Within(s.dir), err
}

// content returns the number of staged bytes, and whether some of them are recent.
func (s *sweep) content(ctx context.Context, at string, st status) (bytes int64, fresh bool, err error) {
	if !st.IsDir() {
		return st.Size, false, nil
	}
	files, err := s.fs.entries(ctx, at)
	for _, file := range files {
		bytes += file.Size
		fresh = fresh || file.ModTime.After(s.before)
	}
	return bytes, fresh, err
}
