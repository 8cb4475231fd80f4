//go:build ceph

package cephfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Sweep removes the uploads below dir that were last written to longer than age ago, and
// directories that a RemoveTree of that time did not finish removing. It also removes leftovers of
// interrupted batches, regardless of age.
func (f FS) Sweep(ctx context.Context, name pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "cephfs.Sweep"
	s, err := changeIn(ctx, f, op, name, []pfs.Path{name}, func(d *dir) (sweep, error) {
		s := sweep{before: time.Now().Add(-age)}
		err := d.walk(s.visit, 0)
		return s, err
	})
	return s.n, s.bytes, err
}

// sweep is the state of one Sweep.
type sweep struct {
	before time.Time
	n      int
	bytes  int64
}

// visit removes e from d if it is a temporary that is due, and reports whether the walk enters it.
func (s *sweep) visit(d *dir, e entry) (enter bool, err error) {
	switch {
	case !e.Hidden() || !sweepable(e, s.before):
		return true, nil
	case e.st.mode.IsDir():
		return false, posix.NewRemover(emptied{d, d}).Tree(e)
	}
	if err := d.unlink(e.name); err != nil {
		return false, posix.UnlessMissing(err)
	}
	s.n++
	s.bytes += e.st.size
	return false, nil
}

// walk calls visit for everything below d, hidden names too, without following links. It does not
// enter a directory for which visit returns false, nor one deeper than a Path can name, and ignores
// entries that are removed meanwhile.
func (d *dir) walk(visit func(d *dir, e entry) (enter bool, err error), depth int) error {
	for token := ""; ; {
		page, next, err := d.entries(token, posix.WalkPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			enter, err := visit(d, e)
			if err == nil && enter && e.st.mode.IsDir() && depth < pfs.MaxPath/2 {
				err = d.walkInto(e.name, visit, depth+1)
			}
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		token = next
	}
}

func (d *dir) walkInto(name string, visit func(d *dir, e entry) (bool, error), depth int) error {
	sub, err := d.element(name)
	if err != nil {
		switch kindOf(err) {
		case pfs.NotExist, pfs.NotDir, pfs.Symlink:
			return nil
		}
		return err
	}
	defer sub.Close()
	return sub.walk(visit, depth)
}

// sweepable reports whether Sweep removes the temporary e, if it removes uploads last written
// before the given time.
func sweepable(e entry, before time.Time) bool {
	if since, ok := batchTempSince(e.name); ok {
		return time.Since(since) >= digest.TempAge
	}
	return !e.st.mtime.After(before)
}
