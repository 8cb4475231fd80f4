package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// BlockLocations returns this machine for every chunk.
func (s *FS) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) (blocks []pfs.BlockLocation, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.BlockLocations", name, (*FS).findFile, pfs.CanLocateBlocks, read, func(f *node) error {
		size := f.data.size
		for at := off - off%pfs.ChunkSize; off < size && at < size && at-off < n; at += pfs.ChunkSize {
			blocks = append(blocks, pfs.BlockLocation{Offset: at, Length: min(pfs.ChunkSize, size-at), Hosts: []string{"localhost"}})
		}
		return nil
	})
	return blocks, err
}
