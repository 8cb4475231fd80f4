//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// fsidAttribute is a virtual attribute of every directory, which libcephfs answers without the
// cluster.
const fsidAttribute = "ceph.cluster_fsid"

// Cluster returns the ID of the cluster: the same through any of its monitors, and unique. It does
// not identify the file system within the cluster: a default file system that is mounted without a
// name has no number.
func (f FS) Cluster(ctx context.Context) (string, error) {
	const op = "cephfs.Cluster"
	id, err := run(ctx, f, func(c *call) (string, error) {
		d, err := c.directory(pfs.Root)
		if err != nil {
			return "", err
		}
		defer d.Close()
		fsid, err := d.xattr(fsidAttribute)
		return string(fsid), err
	}, nil)
	return id, fail(op, pfs.Root, err)
}
