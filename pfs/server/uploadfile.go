package server

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// uploadFile returns u as a File that ends where its bytes end, seen from the chunk at off. Close
// releases u.
func (s *Server) uploadFile(ctx context.Context, u *upload, off, length int64) (pfs.File, error) {
	n, err := u.stagedAt(ctx, off, length)
	if err != nil {
		s.uploads.release(u)
		return nil, err
	}
	return &uploadFile{s: s, u: u, info: pfs.Info{Name: u.key.path.Base(), Size: off + n}}, nil
}

type uploadFile struct {
	s    *Server
	u    *upload
	info pfs.Info
}

func (f *uploadFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return f.u.staged.ReadAt(ctx, p, off)
}

func (f *uploadFile) Info() pfs.Info { return f.info }

func (f *uploadFile) Close() error {
	f.s.uploads.release(f.u)
	return nil
}
