package hdfsfs

import (
	"context"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// Space reports the cluster's size in bytes of files: replicas are divided out.
func (f *FS) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	const op = "hdfsfs.Space"
	if err := f.check(ctx, op, name); err != nil {
		return pfs.Space{}, err
	}
	replicas, err := f.replication(ctx)
	if err != nil {
		return pfs.Space{}, fail(op, name, err)
	}
	var info hdfs.FsInfo
	err = f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
		info, err = c.StatFs()
		return err
	})
	return pfs.Space{
		Total: int64(info.Capacity) / replicas, Used: int64(info.Used) / replicas, Free: int64(info.Remaining) / replicas,
	}, fail(op, name, err)
}
