//go:build ceph

package cephfs

import (
	"context"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the staged writes below dir that were last written to before age, and what a
// RemoveTree of that time left on its way; and what a batch left, whatever the age.
func (f FS) Sweep(ctx context.Context, name pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "cephfs.Sweep"
	type swept struct {
		n     int
		bytes int64
	}
	s, err := changeIn(ctx, f, op, name, []pfs.Path{name}, func(d *dir) (s swept, err error) {
		before := time.Now().Add(-age)
		err = d.walk(func(d *dir, e entry) (bool, error) {
			if !isHidden(e.name) || !sweepable(e, before) {
				return true, nil
			}
			switch {
			case strings.HasPrefix(e.name, removedPrefix) && e.st.mode.IsDir():
				r := remover{top: d}
				return false, r.all(d, e)
			case isStaged(e.name) && e.st.mode.IsRegular():
				if err := d.unlink(e.name); err != nil {
					return false, unlessMissing(err)
				}
				s.n++
				s.bytes += e.st.size
			}
			return true, nil
		}, 0)
		return s, err
	})
	return s.n, s.bytes, err
}

// walk visits all that is below d, hidden names too, without following a link. Below a directory
// for which visit answers false it does not go. What goes away meanwhile is passed over, and so is
// what is deeper than a Path can name.
func (d *dir) walk(visit func(d *dir, e entry) (enter bool, err error), depth int) error {
	for token := ""; ; {
		page, next, err := d.entries(token, walkPage)
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
