package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// BlockLocations returns this machine for every chunk.
func (s *FS) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) ([]pfs.BlockLocation, error) {
	const op = "memfs.BlockLocations"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := s.need(op, name, pfs.CanLocateBlocks); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := s.findFile(op, name)
	if err == nil {
		err = s.may(op, name, f, read)
	}
	if err != nil {
		return nil, err
	}
	size := f.data.size
	var blocks []pfs.BlockLocation
	for at := off - off%pfs.ChunkSize; off < size && at < size && at-off < n; at += pfs.ChunkSize {
		blocks = append(blocks, pfs.BlockLocation{Offset: at, Length: min(pfs.ChunkSize, size-at), Hosts: []string{"localhost"}})
	}
	return blocks, nil
}
