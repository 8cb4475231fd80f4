//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// fsidAttribute is a virtual attribute of every directory, which libcephfs knows by itself.
const fsidAttribute = "ceph.cluster_fsid"

// Cluster returns what the cluster calls itself: the same by whatever monitors it is reached, and another
// for each other one. Of its file systems it tells nothing: one that is mounted as the cluster's default
// has no number of its own.
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
