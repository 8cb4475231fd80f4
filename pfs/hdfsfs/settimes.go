package hdfsfs

import (
	"context"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// setTimes sets the times of a path in HDFS, of which the zero time keeps one, and returns the modification time
// as HDFS keeps it, in milliseconds.
func (f *FS) setTimes(ctx context.Context, at string, mtime, atime time.Time) (kept time.Time, err error) {
	request := &hdfsproto.SetTimesRequest{Path: &at, Modified: proto.Uint64(millis(mtime)), Accessed: proto.Uint64(millis(atime))}
	return time.UnixMilli(int64(millis(mtime))), f.tell(ctx, "setTimes", request, rpc.Idempotent)
}

// keepTime leaves a time unchanged.
const keepTime = math.MaxUint64 // -1

// millis converts a time to the format of HDFS, which has no times before 1970.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return keepTime
	}
	return uint64(max(0, t.UnixMilli()))
}
