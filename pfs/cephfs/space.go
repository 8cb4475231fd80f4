//go:build ceph

package cephfs

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
)

// noSpace reports that a file does not fit into the store or a quota.
type noSpace struct{ want, free int64 }

func (e *noSpace) Error() string {
	return fmt.Sprintf("it needs %d bytes, %d are free", e.want, e.free)
}

// checkSpace returns noSpace if the store, or the quota of d, has fewer bytes left. It does not
// check for small files, which the store itself refuses.
func (d *dir) checkSpace(bytes int64) error {
	const worth = 64 << 20
	if bytes < worth {
		return nil
	}
	space, err := d.space()
	if err != nil {
		return err
	}
	if bytes > space.Free {
		return &noSpace{bytes, space.Free}
	}
	return nil
}

func (d *dir) space() (pfs.Space, error) {
	return ask(d.c, func(m *cMount, _ *cPerms) (pfs.Space, error) { return statfs(m, d.in) })
}

// Space describes the store of name, which need not exist. Below a quota, it describes the quota.
func (f FS) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	const op = "cephfs.Space"
	for {
		space, err := in(ctx, f, op, name, (*dir).space)
		if err == nil || name == pfs.Root {
			return space, err
		}
		switch kindOf(err) {
		case pfs.NotExist, pfs.NotDir, pfs.Symlink:
			name = name.Parent()
		default:
			return space, err
		}
	}
}
