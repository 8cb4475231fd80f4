package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/types/known/emptypb"
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
	all, err := f.clusterSpace(ctx)
	return pfs.Space{
		Total: int64(all.GetCapacity()) / replicas, Used: int64(all.GetUsed()) / replicas, Free: int64(all.GetRemaining()) / replicas,
		Copies: int(replicas),
	}, fail(op, name, err)
}

// clusterSpace returns the bytes of all DataNodes.
func (f *FS) clusterSpace(ctx context.Context) (*hdfsproto.GetFsStatsResponse, error) {
	all := new(hdfsproto.GetFsStatsResponse)
	return all, f.ask(ctx, "getFsStats", new(emptypb.Empty), all, rpc.Idempotent)
}
