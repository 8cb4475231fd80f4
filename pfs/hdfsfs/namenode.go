package hdfsfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// ask makes a call on the active NameNode, as the user of f.
func (f *FS) ask(ctx context.Context, method string, request, response proto.Message, r rpc.Repeat) error {
	return f.client.rpc.Call(ctx, method, request, response, r)
}

// tell makes a call whose response is empty.
func (f *FS) tell(ctx context.Context, method string, request proto.Message, r rpc.Repeat) error {
	return f.ask(ctx, method, request, new(emptypb.Empty), r)
}

// wait pauses unless ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
