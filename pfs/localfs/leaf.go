package localfs

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// LeafDigests reads what was staged, one leaf after the other. Other leaves may be
// written meanwhile. Leaves that end beyond what was staged are not read.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	const op = "localfs.Staged.LeafDigests"
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, w.name, pfs.Invalid, "%d leaves from %d on, of %d bytes", n, first, size)
	}
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return nil, err
	}
	staged, err := w.length(op)
	if err != nil {
		return nil, err
	}
	whole := staged / pfs.ChunkSize
	if staged >= size {
		whole = pfs.Leaves(size)
	}
	count := min(int64(n), whole-first)
	if count <= 0 {
		return nil, nil
	}
	var leaves []pfs.LeafDigest
	buf := make([]byte, min(size, pfs.ChunkSize))
	for i := first; i < first+count; i++ {
		leaf := buf[:min(pfs.ChunkSize, size-i*pfs.ChunkSize)]
		k, err := w.ReadAt(ctx, leaf, i*pfs.ChunkSize)
		if k < len(leaf) && err == io.EOF {
			break // it was cut off meanwhile
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		leaves = append(leaves, digest.Leaf(leaf))
	}
	return leaves, nil
}

// length returns how many bytes are staged, gaps before the last one included.
func (w *staged) length(op string) (int64, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	st, err := statFile(w.file)
	return st.size, fail(op, w.name, err)
}
