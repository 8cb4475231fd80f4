package hdfsfs

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"

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
	return pfs.Space{Total: int64(info.Capacity) / replicas, Free: int64(info.Remaining) / replicas}, fail(op, name, err)
}

// replication is the number of replicas of files that are written.
func (f *FS) replication(ctx context.Context) (int64, error) {
	if n := f.opts.Replication; n > 0 {
		return int64(n), nil
	}
	d, err := f.serverDefaults(ctx)
	return int64(max(1, d.Replication)), err
}

// Usage sums the tree below name in one call. HDFS's space quota counts replicas:
// what is said here is divided by their number.
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
	// What is staged is no part of the tree.
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

// SetQuota limits the tree below name, by HDFS's own quotas. It needs WebHDFS, and the
// rights of a superuser.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "hdfsfs.SetQuota"
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	if !f.hasWeb() {
		return fail(op, name, errWebOff)
	}
	replicas, err := f.replication(ctx)
	if err != nil {
		return fail(op, name, err)
	}
	st, err := f.status(ctx, name)
	switch {
	case err != nil:
		return f.placeError(ctx, op, name, err)
	case !st.IsDir():
		return pfs.E(op, name, pfs.NotDir, nil)
	}
	defer f.quotaless.forget(f.at(name))
	// The directory itself counts as a name.
	q := url.Values{"namespacequota": {quota(maxFiles, 1, 1)}, "storagespacequota": {quota(maxBytes, replicas, 0)}}
	return fail(op, name, f.web(ctx, webCall{method: http.MethodPut, op: "SETQUOTA", path: f.at(name), query: q, repeat: idempotent}, nil))
}

// quota is a limit as HDFS has it; -1 lifts it.
func quota(limit, times, more int64) string {
	if limit == 0 {
		return "-1"
	}
	if limit > (math.MaxInt64-more)/times-1 {
		return strconv.FormatInt(math.MaxInt64-1, 10)
	}
	return strconv.FormatInt(limit*times+more, 10)
}
