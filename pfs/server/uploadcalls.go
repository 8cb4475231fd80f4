package server

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// createCall begins or resumes an upload, and keeps it open for the chunks to come.
func (s *Server) createCall(ctx context.Context, r *request, m wire.CreateRequest, _ func(int64)) (wire.CreateReply, error) {
	name, err := pfs.ParsePath(m.Path)
	if err != nil {
		return wire.CreateReply{}, err
	}
	if m.ID == "" && !m.Reopen {
		m.ID = pfs.NewID()
	}
	// Ask the store even if the upload is open here: another replica may have removed it.
	staged, err := r.create(ctx, "server.create", name, pfs.CreateOptions{ID: m.ID, Reopen: m.Reopen, Size: m.Size})
	if err != nil {
		return wire.CreateReply{}, err
	}
	reply := wire.CreateReply{ID: m.ID, Unit: staged.Unit(), Resumed: staged.Resumed()}
	s.uploads.release(s.uploads.begin(r.uploadKey(name, reply.ID), staged))
	return reply, nil
}

// leavesCall answers the digests of leaves that are staged, up to the first that is not.
func (s *Server) leavesCall(ctx context.Context, r *request, m wire.LeavesRequest, progress func(int64)) (wire.LeavesReply, error) {
	u, err := s.upload(ctx, r, m.Path, m.ID)
	if err != nil {
		return wire.LeavesReply{}, err
	}
	defer s.uploads.release(u)
	all := pfs.Leaves(m.Size)
	if m.Size < 0 || m.First < 0 || m.Count < 0 {
		return wire.LeavesReply{}, pfs.Errorf("server.leaves", u.key.path, pfs.Invalid, "leaves %d+%d of %d bytes", m.First, m.Count, m.Size)
	}
	last := min(all, m.First+int64(min(m.Count, wire.MaxLeaves)))
	var reply wire.LeavesReply
	for n := m.First; n < last; n++ {
		if err := pfs.CheckContext(ctx, "server.leaves", u.key.path); err != nil {
			return reply, err
		}
		d, err := u.leaf(ctx, n, m.Size)
		if errors.Is(err, pfs.Integrity) {
			break // staged only so far
		}
		if err != nil {
			return reply, err
		}
		reply.Leaves = append(reply.Leaves, d[:]...)
		progress((n - m.First + 1) * pfs.ChunkSize)
	}
	return reply, nil
}

// syncCall makes the staged bytes durable.
func (s *Server) syncCall(ctx context.Context, r *request, m wire.StagedRequest, _ func(int64)) (reply wire.Empty, err error) {
	u, err := s.upload(ctx, r, m.Path, m.ID)
	if err != nil {
		return reply, err
	}
	defer s.uploads.release(u)
	return reply, u.staged.Sync(ctx)
}

// commitCall publishes an upload. A repeated commit gets the first answer.
func (s *Server) commitCall(ctx context.Context, r *request, m wire.CommitRequest, progress func(int64)) (wire.InfoReply, error) {
	const op = "server.commit"
	var reply wire.InfoReply
	if m.Size < 0 {
		return reply, pfs.Errorf(op, pfs.Path(m.Path), pfs.Invalid, "size %d", m.Size)
	}
	opts := pfs.CommitOptions{
		Size: m.Size, Mode: wire.FileMode(m.Mode), ModTime: m.Time.Optional(), Digest: m.Digest, NoReplace: m.NoReplace,
	}
	u, err := s.upload(ctx, r, m.Path, m.ID)
	if errors.Is(err, pfs.Conflict) {
		return s.commitAgain(ctx, r, m, opts, err)
	}
	if err != nil {
		return reply, err
	}
	defer s.uploads.release(u)
	unlock, err := u.lock(ctx, exclusive)
	if err != nil {
		return reply, err
	}
	defer unlock()
	if u.over {
		return s.commitAgain(ctx, r, m, opts, pfs.Errorf(op, u.key.path, pfs.Conflict, "the upload %s has ended", u.key.id))
	}
	info, err := u.commit(ctx, opts, progress)
	if errors.Is(err, pfs.Integrity) {
		u.distrust() // the store may have lost bytes that arrived here
	}
	if err != nil {
		return reply, err
	}
	u.over = true
	s.uploads.end(u)
	reply.Info = wire.NewInfo(info)
	return reply, nil
}

// commit publishes the upload, which the caller uses exclusively, if its digest is that of opts.
func (u *upload) commit(ctx context.Context, opts pfs.CommitOptions, progress func(int64)) (pfs.Info, error) {
	sum, err := u.sum(ctx, opts.Size, progress)
	if err != nil && u.empty(ctx) {
		// Nothing is staged, and nothing will be while u is used exclusively. If this ID was
		// committed before and the reply was lost, the store returns the published file; otherwise
		// it reports missing bytes.
		sum, err = opts.Digest, nil
	}
	if err == nil && digest.Algorithm(opts.Digest) == digest.XXH3 && opts.Digest != sum {
		err = pfs.Errorf("server.commit", u.key.path, pfs.Integrity,
			"the sender has %s and the service %s: not published; copy again to send what differs", opts.Digest, sum)
	}
	if errors.Is(err, pfs.Integrity) && !u.arrived(ctx, opts.Size) {
		err = &notKept{err}
	}
	if err != nil {
		return pfs.Info{}, err
	}
	opts.Digest = sum // of the bytes that arrived; any other stated digest is unverified
	return u.staged.Commit(ctx, opts)
}

// commitAgain answers a commit whose upload is gone: it was committed before and the reply lost, or
// it was discarded or removed. To find out, commitAgain commits an empty upload of the same ID, to
// which no other request can write: the store returns the file published under that ID. That would
// publish an empty file again, so for an empty file the digest is compared with the existing file
// instead.
func (s *Server) commitAgain(ctx context.Context, r *request, m wire.CommitRequest, opts pfs.CommitOptions, gone error) (reply wire.InfoReply, err error) {
	name := pfs.Path(m.Path) // s.upload has checked it
	if m.Size == 0 {
		info, err := r.tree.Stat(ctx, name)
		if err != nil {
			return reply, unlessAway(err, gone)
		}
		if m.Digest == "" || info.Size != 0 || info.Digest != m.Digest {
			return reply, gone
		}
		return wire.InfoReply{Info: wire.NewInfo(info)}, nil
	}
	w, err := r.create(ctx, "server.commit", name, pfs.CreateOptions{ID: m.ID})
	if err != nil {
		return reply, unlessAway(err, gone)
	}
	u := s.uploads.begin(r.uploadKey(name, m.ID), w)
	defer s.uploads.release(u)
	unlock, err := u.lock(ctx, exclusive)
	if err != nil {
		return reply, err
	}
	defer unlock()
	if u.over || !u.empty(ctx) { // the upload was started again
		return reply, gone
	}
	info, err := u.staged.Commit(ctx, opts)
	u.over = true
	s.uploads.end(u)
	if err != nil {
		return reply, unlessAway(err, gone)
	}
	return wire.InfoReply{Info: wire.NewInfo(info)}, nil
}

// unlessAway returns gone, or err if err only means that the store or the client is away: then it
// is unknown whether the commit was done.
func unlessAway(err, gone error) error {
	if kind := pfs.KindOf(err); kind.Temporary() || kind == pfs.Canceled {
		return err
	}
	return gone
}

// discardCall removes an upload. An upload that is gone counts as discarded.
func (s *Server) discardCall(ctx context.Context, r *request, m wire.StagedRequest, _ func(int64)) (reply wire.Empty, err error) {
	u, err := s.upload(ctx, r, m.Path, m.ID)
	if errors.Is(err, pfs.Conflict) {
		return reply, nil // gone already
	}
	if err != nil {
		return reply, err
	}
	defer s.uploads.release(u)
	unlock, err := u.lock(ctx, exclusive)
	if err != nil {
		return reply, err
	}
	defer unlock()
	if u.over {
		return reply, nil
	}
	u.over = true
	s.uploads.end(u)
	return reply, u.staged.Close(ctx)
}
