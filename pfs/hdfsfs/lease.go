package hdfsfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// recoveryTime is how long the recovery of a block may take before another recovery is requested. A recovery begins with a
// heartbeat of a DataNode, so it takes seconds. HDFS itself repeats a failed recovery only after 20 minutes.
const recoveryTime = 10 * time.Second

// recoverLease closes the file at a path in HDFS, which a writer has left open.
func (f *FS) recoverLease(ctx context.Context, at string) error {
	until := time.Now().Add(2 * f.opts.Timeout)
	closed, err := f.askFile(ctx, "recoverLease", at)
	for asked := time.Now(); err == nil && !closed; {
		if time.Now().After(until) {
			return pfs.Errorf("hdfsfs.recoverLease", "", pfs.Unavailable, "HDFS has not closed the file of a writer that died")
		}
		if err = wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		method := "isFileClosed"
		if time.Since(asked) > recoveryTime {
			method, asked = "recoverLease", time.Now()
		}
		closed, err = f.askFile(ctx, method, at)
	}
	return err
}

// askFile makes a call about the file at a path in HDFS whose answer is yes or no.
func (f *FS) askFile(ctx context.Context, method, at string) (yes bool, err error) {
	var request proto.Message = &hdfsproto.IsFileClosedRequest{Path: &at}
	if method == "recoverLease" {
		request = &hdfsproto.RecoverLeaseRequest{Path: &at, Client: &f.name}
	}
	var answer hdfsproto.BoolResponse
	err = f.ask(ctx, method, request, &answer, rpc.Idempotent)
	return answer.GetResult(), err
}
