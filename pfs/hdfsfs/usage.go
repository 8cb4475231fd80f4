package hdfsfs

import (
	"context"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// Usage sums the tree below name in one call. HDFS's space quota counts block replicas, so Usage
// divides it by their number.
func (f *FS) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	const op = "hdfsfs.Usage"
	if err := f.check(ctx, op, name); err != nil {
		return pfs.Usage{}, err
	}
	replicas, err := f.replication(ctx)
	if err != nil {
		return pfs.Usage{}, fail(op, name, err)
	}
	sum, err := f.summary(ctx, f.at(name))
	if err != nil {
		return pfs.Usage{}, f.placeError(ctx, op, name, err)
	}
	if sum.DirectoryCount() == 0 {
		return pfs.Usage{}, pfs.E(op, name, pfs.NotDir, nil)
	}
	u := pfs.Usage{
		Bytes: sum.Size(), Files: int64(sum.FileCount()), Dirs: int64(sum.DirectoryCount()) - 1,
		MaxBytes: max(0, sum.SpaceQuota()) / replicas,
		MaxFiles: max(0, int64(sum.NameQuota())-1),
	}
	if name != pfs.Root {
		return u, nil
	}
	// Staged bytes are not part of the tree.
	staged, err := f.service.summary(ctx, f.stage.top())
	if is(err, pfs.NotExist) {
		return u, nil
	}
	if err != nil {
		return pfs.Usage{}, fail(op, name, err)
	}
	u.Bytes -= staged.Size()
	u.Files -= int64(staged.FileCount())
	u.Dirs -= int64(staged.DirectoryCount())
	return u, nil
}

func (f *FS) summary(ctx context.Context, at string) (sum *hdfs.ContentSummary, err error) {
	err = f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
		sum, err = c.GetContentSummary(at)
		return err
	})
	return sum, err
}
