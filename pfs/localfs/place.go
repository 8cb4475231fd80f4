package localfs

import (
	"context"
	"errors"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// place is an open directory and the trees with a quota that contain it, the innermost first.
type place struct {
	dir   dir
	trees []*tree
}

// openPlace opens the directory rel below the root, "" for the root itself, and looks for a quota
// in each directory on the way. It descends one element at a time, so its price grows linearly with
// the depth, and the trees are those of the opened directory even if something is renamed
// meanwhile. Quota files are not cached: a quota that another process sets holds at once.
func (f *FS) openPlace(rel string) (place, error) {
	if f.opts.FollowLinks {
		d, err := f.openDir(rel)
		return place{dir: d}, err
	}
	d, err := f.openDir("")
	if err != nil {
		return place{}, err
	}
	p, err := f.placeOf(d, nil, func() pfs.Path { return pfs.Root })
	if err != nil {
		return place{}, err
	}
	for name, way := range elements(rel) {
		next, err := f.step(p, name, func() pfs.Path { return absolute(way) })
		p.dir.Close()
		if errors.Is(err, pfs.Symlink) {
			err = linkAt(way)
		}
		if err != nil {
			return place{}, err
		}
		p = next
	}
	return p, nil
}

// step opens the directory name of p. path is only called if that has a quota.
func (f *FS) step(p place, name string, path func() pfs.Path) (place, error) {
	d, err := p.dir.open(name)
	if err != nil {
		return place{}, err
	}
	return f.placeOf(d, p.trees, path)
}

// placeOf makes a place of the open directory d in the trees above. It closes d on an error.
func (f *FS) placeOf(d dir, above []*tree, path func() pfs.Path) (place, error) {
	t, err := f.treeOf(d, path)
	if err != nil {
		d.Close()
		return place{}, err
	}
	if t == nil {
		return place{d, above}, nil
	}
	return place{d, slices.Concat([]*tree{t}, above)}, nil
}

// parentPlace is parent for operations that change the totals of a tree.
func (f *FS) parentPlace(name pfs.Path) (p place, base string, err error) {
	p, err = f.openPlace(relative(name.Parent()))
	return p, lastName(name), err
}

// change is at for operations that change the totals of a tree.
func (f *FS) change(ctx context.Context, op string, name pfs.Path, do func(p place, base string) error) error {
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	p, base, err := f.parentPlace(name)
	if err != nil {
		return fail(op, name, err)
	}
	defer p.dir.Close()
	return fail(op, name, do(p, base))
}
