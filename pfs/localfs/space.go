package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Space describes the disk that holds name, or would hold it.
func (f *FS) Space(ctx context.Context, name pfs.Path) (space pfs.Space, err error) {
	const op = "localfs.Space"
	if err := f.check(ctx, op, name); err != nil {
		return pfs.Space{}, err
	}
	d, err := f.openNearest(relative(name))
	if err != nil {
		return pfs.Space{}, fail(op, name, err)
	}
	defer d.Close()
	space, err = d.space()
	return space, fail(op, name, err)
}

// openNearest opens the deepest existing directory of the path rel.
func (f *FS) openNearest(rel string) (dir, error) {
	d, err := f.openDir("")
	if err != nil {
		return nil, err
	}
	for name := range elements(rel) {
		next, err := d.open(name)
		if err != nil && passed(err) {
			return d, nil
		}
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}
