package aferofs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the staged writes below dir that were last written longer than age
// ago.
func (s *store) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "aferofs.Sweep"
	if err := s.begin(ctx, op, dir); err != nil {
		return 0, 0, err
	}
	sw := &sweep{store: s, op: op, until: time.Now().Add(-age)}
	err = sw.tree(ctx, dir)
	return sw.n, sw.bytes, err
}

// sweep is a Sweep under way.
type sweep struct {
	*store
	op    string
	until time.Time
	n     int
	bytes int64
}

// tree sweeps dir and what is below. What goes away meanwhile needs no sweeping.
func (sw *sweep) tree(ctx context.Context, dir pfs.Path) error {
	if err := sw.dir(ctx, dir); err != nil {
		return err
	}
	for e, err := range pfs.Entries(ctx, sw.store, dir, nil) {
		if err == nil && e.IsDir() {
			err = sw.tree(ctx, dir.Join(e.Name))
		}
		if err != nil && !errors.Is(err, pfs.NotExist) {
			return err
		}
	}
	return nil
}

// dir sweeps the staged writes of the files in dir.
func (sw *sweep) dir(ctx context.Context, dir pfs.Path) error {
	r, err := sw.openDir(sw.op, dir)
	if err != nil {
		return err
	}
	defer r.close()
	for {
		if err := pfs.CheckContext(ctx, sw.op, dir); err != nil {
			return err
		}
		some, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fail(sw.op, dir, err)
		}
		for _, name := range some {
			if sw.checkName(name) == "" {
				continue
			}
			if err := sw.remove(dir, name); err != nil {
				return err
			}
		}
	}
}

// remove removes the entry if it is a temporary and old enough.
func (sw *sweep) remove(dir pfs.Path, name string) error {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	real := sw.real(dir.Join(name))
	fi, err := sw.lstat(real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail(sw.op, dir, err)
	}
	size := fi.Size()
	if !sw.isTemp(name, fi) || fi.ModTime().After(sw.until) {
		return nil
	}
	if err := sw.afs.Remove(real); err != nil {
		return fail(sw.op, dir, err)
	}
	if u := sw.uploads[real]; u != nil {
		sw.forget(u)
	}
	sw.n++
	sw.bytes += size
	return nil
}
