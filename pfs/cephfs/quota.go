//go:build ceph

package cephfs

import (
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// The attributes that hold the store's own quota.
const (
	maxBytesName = "ceph.quota.max_bytes"
	maxFilesName = "ceph.quota.max_files"
)

// SetQuota limits the tree below the directory name by the store's own quota, which holds for every
// client. The store compares it with sums that follow a change within seconds. So a little more than the quota may
// be written, a write may be refused for a moment after a removal, and staged writes count.
func (f FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "cephfs.SetQuota"
	if maxFiles > 0 {
		maxFiles++ // the directory itself
	}
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := changeIn(ctx, f, op, name, []pfs.Path{name}, func(d *dir) (struct{}, error) {
		return struct{}{}, d.durably(func() error {
			if err := d.setXattr(maxBytesName, strconv.AppendInt(nil, maxBytes, 10)); err != nil {
				return err
			}
			return d.setXattr(maxFilesName, strconv.AppendInt(nil, maxFiles, 10))
		})
	})
	return err
}
