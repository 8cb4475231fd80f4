package localfs

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Symlink makes name a link to target.
func (f *FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "localfs.Symlink"
	return f.change(ctx, op, name, func(p place, base string) error {
		if name == pfs.Root {
			return pfs.E(op, name, pfs.Exist, nil)
		}
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return pfs.Errorf(op, name, pfs.Invalid, "a link cannot lead to %q", target)
		}
		size := int64(len(target))
		c, err := f.claim(ctx, p.trees, size, 1)
		if err != nil {
			return err
		}
		defer c.release()
		err = f.holding(named{p, base}, "", func() error {
			if err := p.dir.symlink(target, base); err != nil {
				return err
			}
			c.settle(sums{bytes: size, files: 1})
			return nil
		})
		if err != nil {
			return err
		}
		return f.syncDir(p.dir)
	})
}
