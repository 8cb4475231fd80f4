package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// copyMemory bounds the bytes that all copies between stores hold at one time.
	copyMemory = 64 << 20
	// never is for transfer.Options.Retries: the client asks again, and the copy goes on.
	never = -1
)

func (s *Server) copyCall(ctx context.Context, r *request, q wire.CopyRequest, progress func(int64)) (reply wire.InfoReply, err error) {
	src, dst, err := parseTwo(q.Source, q.Target)
	if err != nil {
		return reply, err
	}
	if err := (pfs.CreateOptions{ID: q.ID}).Check("server.copy", dst); err != nil {
		return reply, err
	}
	id, err := copyID(ctx, r, q.ID, src)
	if err != nil {
		return reply, err
	}
	opts := pfs.CopyOptions{ID: id, NoReplace: q.NoReplace, NewTime: q.NewTime}
	info, err := pfs.CopyFile(ctx, r.tree, src, dst, opts, progress)
	if errors.Is(err, pfs.CrossStore) {
		info, err = s.copyAcross(ctx, r, src, dst, opts, progress)
	}
	return wire.InfoReply{Info: wire.NewInfo(info)}, err
}

// copyAcross copies from one store to another: several chunks at a time, each compared
// with what an earlier copy of the same ID has staged, and the whole with the digest
// that the source keeps.
func (s *Server) copyAcross(ctx context.Context, r *request, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	job, err := transfer.New(transfer.Options{Pool: s.copies, Retries: never})
	if err != nil {
		return pfs.Info{}, err
	}
	return job.CopyFile(ctx, transfer.End{FS: r.tree, Path: src}, transfer.End{FS: r.tree, Path: dst}, opts, progress)
}

// copyID returns the ID of the staged write of a copy, which nobody but a copy of this
// version of the source can write to: what the source's digest promises must not be
// changed on the way.
func copyID(ctx context.Context, r *request, id string, src pfs.Path) (string, error) {
	if id == "" {
		id = pfs.NewID() // not one that could be computed from what anybody sees
	}
	f, err := r.tree.Open(ctx, src)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", r.id.Name, id, src, f.Info().Version))
	return copyPrefix + hex.EncodeToString(sum[:20]), nil
}
