package aferofs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes the digest of the file name, on one core.
func (s *store) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	f, err := s.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.OfFile(ctx, f, algorithm, 1, progress)
}
