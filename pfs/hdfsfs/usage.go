package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
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
	if sum.GetDirectories() == 0 {
		return pfs.Usage{}, pfs.E(op, name, pfs.NotDir, nil)
	}
	u := pfs.Usage{
		Bytes: int64(sum.GetLength()), Files: int64(sum.GetFiles()), Dirs: int64(sum.GetDirectories()) - 1,
		MaxBytes: max(0, sum.GetSpaceQuota()) / replicas,
		MaxFiles: max(0, sum.GetQuota()-1),
		Stored:   int64(sum.GetSpace()), MaxStored: max(0, sum.GetSpaceQuota()),
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
	u.Bytes -= int64(staged.GetLength())
	u.Stored -= int64(staged.GetSpace())
	u.Files -= int64(staged.GetFiles())
	u.Dirs -= int64(staged.GetDirectories())
	return u, nil
}

// summary counts the tree at a path in HDFS.
func (f *FS) summary(ctx context.Context, at string) (*hdfsproto.ContentSummary, error) {
	var answer hdfsproto.GetContentSummaryResponse
	err := f.ask(ctx, "getContentSummary", &hdfsproto.PathRequest{Path: &at}, &answer, rpc.Idempotent)
	return answer.Summary, err
}
