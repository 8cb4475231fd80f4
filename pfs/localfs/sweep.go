package localfs

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the staged writes below dir that were last written to before age,
// and what a RemoveTree of that time left on its way.
func (f *FS) Sweep(ctx context.Context, name pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "localfs.Sweep"
	if err := f.check(ctx, op, name); err != nil {
		return 0, 0, err
	}
	before := time.Now().Add(-age)
	err = f.walk(ctx, relative(name), func(d dir, rel, entry string, st stat) (bool, error) {
		if !isHidden(entry) || st.mtime.After(before) {
			return true, nil
		}
		switch {
		case strings.HasPrefix(entry, removedPrefix) && st.mode.IsDir():
			return false, f.sweepTree(ctx, op, d, entry, absolute(rel))
		case isStaged(entry) && st.mode.IsRegular():
			if err := d.unlink(entry); err != nil {
				return false, unlessMissing(err)
			}
			n++
			bytes += st.size
			return false, f.swept(absolute(rel), entry, st)
		}
		return true, nil
	})
	return n, bytes, fail(op, name, err)
}

// swept books that a staged write of the directory name is gone. One that is open
// here is counted by its claim.
func (f *FS) swept(name pfs.Path, temp string, st stat) error {
	if f.quotas.isOpen(temp) {
		return nil
	}
	return f.book(name, pfs.Usage{Bytes: -st.held()})
}

// sweepTree ends a RemoveTree.
func (f *FS) sweepTree(ctx context.Context, op string, d dir, entry string, name pfs.Path) error {
	r := remover{ctx: ctx, f: f, op: op, top: d}
	err := r.remove(d, entry, stat{mode: fs.ModeDir}, 0)
	if err == nil {
		err = r.removeLifted()
	}
	if failed := f.book(name, sum(pfs.Usage{}, r.gone, -1)); err == nil {
		err = failed
	}
	return err
}
