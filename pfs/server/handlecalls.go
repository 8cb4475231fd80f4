package server

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// openCall opens a handle.
func (s *Server) openCall(ctx context.Context, r *request, q wire.OpenRequest, _ func(int64)) (reply wire.OpenReply, err error) {
	h := q.Handle
	r.quiet = pfs.OpenFlags(h.Flags)&pfs.OpenWrite == 0
	h.File = 0
	o, err := s.openHandle(ctx, r, h, pfs.OpenFlags(h.Flags), q.Mode)
	if err != nil {
		return reply, err
	}
	defer s.handles.release(o)
	info, err := o.Stat(ctx)
	return wire.OpenReply{Info: wire.NewInfo(info), Lease: int64(lease.Seconds())}, err
}

// onHandle makes a callFunc of a handler that acts on an open handle.
func (s *Server) onHandle(do func(ctx context.Context, o *openHandle, q wire.HandleRequest) error) callFunc {
	return handle(func(ctx context.Context, r *request, q wire.HandleRequest, _ func(int64)) (reply wire.Empty, err error) {
		o, err := s.handle(ctx, r, q.Handle)
		if err != nil {
			return reply, err
		}
		defer s.handles.release(o)
		return reply, do(ctx, o, q)
	})
}

func (s *Server) handleStatCall(ctx context.Context, r *request, q wire.HandleRequest, _ func(int64)) (reply wire.InfoReply, err error) {
	o, err := s.handle(ctx, r, q.Handle)
	if err != nil {
		return reply, err
	}
	defer s.handles.release(o)
	info, err := o.Stat(ctx)
	return wire.InfoReply{Info: wire.NewInfo(info)}, err
}

func handleTruncateCall(ctx context.Context, o *openHandle, q wire.HandleRequest) error {
	return o.Truncate(ctx, q.Size)
}

func handleAllocateCall(ctx context.Context, o *openHandle, q wire.HandleRequest) error {
	return o.Allocate(ctx, q.Off, q.Size)
}

func handleSyncCall(ctx context.Context, o *openHandle, _ wire.HandleRequest) error {
	return o.Sync(ctx)
}

func handleSetAttrCall(ctx context.Context, o *openHandle, q wire.HandleRequest) error {
	mask, attrs := q.Attrs.Attrs()
	return o.SetAttr(ctx, mask, attrs)
}

// handleCloseCall closes a handle and waits for its other requests. If it is not open here, the
// answer is how its closing ended.
func (s *Server) handleCloseCall(ctx context.Context, r *request, q wire.HandleRequest, _ func(int64)) (reply wire.Empty, err error) {
	key := r.handleKey(q.Handle.ID)
	if o, ok := s.handles.find(key); ok {
		s.handles.end(o)
		s.handles.release(o)
	}
	return reply, s.handles.closing(ctx, key)
}

// renewCall renews the leases of handles.
func (s *Server) renewCall(_ context.Context, r *request, q wire.RenewRequest, _ func(int64)) (reply wire.RenewReply, err error) {
	for i, id := range q.IDs {
		if o, ok := s.handles.find(r.handleKey(id)); ok {
			s.handles.release(o)
		} else {
			reply.Gone = append(reply.Gone, i)
		}
	}
	return reply, nil
}
