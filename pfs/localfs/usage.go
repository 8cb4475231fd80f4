package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Usage sums the tree below name: from memory where name has a quota, else by a
// walk. What is staged counts as bytes and not as files.
func (f *FS) Usage(ctx context.Context, name pfs.Path) (u pfs.Usage, err error) {
	const op = "localfs.Usage"
	err = f.at(ctx, op, name, func(d dir, base string) error {
		st, err := d.stat(base, false)
		if err != nil {
			return err
		}
		if !st.mode.IsDir() {
			u = pfs.Usage{Bytes: st.size, Files: 1}
			return nil
		}
		t, err := f.treeAt(name)
		if err != nil {
			return err
		}
		if t == nil {
			u, err = f.count(ctx, name)
			return err
		}
		if err := t.ready(ctx, f); err != nil {
			return err
		}
		u = t.usage()
		return nil
	})
	return u, err
}

// count walks the tree below name. Staged writes that are open here are left out:
// they are known better by their claims.
func (f *FS) count(ctx context.Context, name pfs.Path) (u pfs.Usage, err error) {
	err = f.walk(ctx, relative(name), func(_ dir, rel, entry string, st stat) (bool, error) {
		switch {
		case st.mode.IsDir():
			if !isHidden(entry) {
				u.Dirs++
			}
		case isStaged(entry):
			if !f.quotas.isOpen(entry) {
				u.Bytes += st.held()
			}
		case !isHidden(entry):
			u.Files++
			u.Bytes += st.size
		}
		return true, nil
	})
	return u, err
}

// sum adds and subtracts usages.
func sum(a pfs.Usage, b pfs.Usage, sign int64) pfs.Usage {
	a.Bytes += sign * b.Bytes
	a.Files += sign * b.Files
	a.Dirs += sign * b.Dirs
	return a
}
