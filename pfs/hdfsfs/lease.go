package hdfsfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/protobuf/encoding/protowire"
)

// recoverLease closes the file at a path in HDFS that a writer has left open. A heartbeat of a DataNode
// begins the recovery of the last block, so it takes seconds.
func (f *FS) recoverLease(ctx context.Context, at string) error {
	until := time.Now().Add(2 * f.opts.Timeout)
	closed, err := f.askFile(ctx, "recoverLease", at) // once: a second call would begin anew
	for err == nil && !closed {
		if time.Now().After(until) {
			return pfs.Errorf("hdfsfs.recoverLease", "", pfs.Unavailable, "HDFS has not closed the file of a writer that died")
		}
		if err = wait(ctx, 100*time.Millisecond); err == nil {
			closed, err = f.askFile(ctx, "isFileClosed", at)
		}
	}
	return err
}

// askFile makes a call about the file at a path in HDFS that the library does not have, and whose answer
// is yes or no. It edits a truncation, which has such an answer: a longer length than any file has is
// refused if the request is not edited.
func (f *FS) askFile(ctx context.Context, method, at string) (yes bool, err error) {
	const longest = 1 << 62
	err = f.callSession(ctx, idempotent, func(s *session) error {
		client := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte(s.client.Name()))
		return s.editedBy(&edit{method: "truncate", as: method, more: client}, func() (err error) {
			yes, err = s.client.Truncate(at, longest)
			return err
		})
	})
	return yes, err
}
