package hdfsfs

import (
	"context"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// setTimes sets the times of a path in HDFS, of which the zero time keeps one.
func (f *FS) setTimes(ctx context.Context, at string, mtime, atime time.Time) error {
	request := &hdfsproto.SetTimesRequest{Path: &at, Modified: proto.Uint64(millis(mtime)), Accessed: proto.Uint64(millis(atime))}
	return f.tell(ctx, "setTimes", request, rpc.Idempotent)
}

// kept returns a time as HDFS keeps it.
func kept(t time.Time) time.Time { return time.UnixMilli(int64(millis(t))) }

// keepTime leaves a time unchanged.
const keepTime = math.MaxUint64 // -1

// millis converts a time to the format of HDFS, which has no times before 1970.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return keepTime
	}
	return uint64(max(0, t.UnixMilli()))
}
