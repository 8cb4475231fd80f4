//go:build ceph

package cephfs

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Symlink makes name a link to target.
func (f FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "cephfs.Symlink"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if name == pfs.Root {
			return pfs.E(op, name, pfs.Exist, nil)
		}
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return pfs.Errorf(op, name, pfs.Invalid, "a link cannot lead to %q", target)
		}
		return d.durably(func() error { return d.symlink(target, base, f.given()) })
	})
}
