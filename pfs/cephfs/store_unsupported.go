//go:build !ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

func open(context.Context, Options) (Store, error) {
	return nil, pfs.Errorf(openOp, "", pfs.Unsupported,
		"this program was built without CephFS: install libcephfs-dev and librados-dev, and build it with `go build -tags ceph`")
}
