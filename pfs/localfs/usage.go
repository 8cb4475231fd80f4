package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Usage counts the tree below name: from memory where name has a quota, otherwise by a walk.
// Uploads count with their bytes, but not as files.
func (f *FS) Usage(ctx context.Context, name pfs.Path) (u pfs.Usage, err error) {
	const op = "localfs.Usage"
	err = f.at(ctx, op, name, func(d dir, base string) error {
		st, err := d.stat(base, false)
		if err != nil {
			return err
		}
		if !st.mode.IsDir() {
			u = sumsOf(st).usage()
			return nil
		}
		sub, err := d.open(base)
		if err != nil {
			return err
		}
		defer sub.Close()
		u, err = f.usageOfDir(ctx, sub, name)
		return err
	})
	return u, err
}

// usageOfDir is Usage of the open directory d.
func (f *FS) usageOfDir(ctx context.Context, d dir, name pfs.Path) (pfs.Usage, error) {
	t, err := f.treeOf(d, func() pfs.Path { return name })
	if err != nil {
		return pfs.Usage{}, err
	}
	if t == nil {
		found, err := f.count(ctx, d, func(tempID) bool { return false })
		return found.usage(), err
	}
	if err := t.ready(ctx, f); err != nil {
		return pfs.Usage{}, err
	}
	return t.usage(), nil
}

// countTree is count of the directory of t.
func (f *FS) countTree(ctx context.Context, t *tree) (sums, error) {
	d, err := f.openDir(relative(t.name))
	if err != nil {
		return sums{}, err
	}
	defer d.Close()
	return f.count(ctx, d, f.quotas.claimedIn(t))
}

// count walks the tree below d. It leaves out uploads that a claim counts, as reported by claimed.
func (f *FS) count(ctx context.Context, d dir, claimed func(tempID) bool) (found sums, err error) {
	w := walker{f: f, visit: func(_ place, entry string, st stat) (bool, error) {
		switch {
		case st.mode.IsDir():
			if !hidden(entry, st) {
				found.dirs++
			}
		case isStaged(entry, st):
			if !claimed(newTempID(entry, st)) {
				found = found.plus(stagedSums(st), 1)
			}
		case !hidden(entry, st):
			found = found.plus(sumsOf(st), 1)
		}
		return true, nil
	}}
	err = w.walk(ctx, place{dir: d})
	return found, err
}
