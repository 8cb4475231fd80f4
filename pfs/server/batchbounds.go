package server

import (
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// batchBounds adds up the sizes in the message of a batch, before memory is taken for the
// content.
type batchBounds struct{ bytes int64 }

// newBatchBounds returns the bounds for a message that names n files and directories.
func newBatchBounds(op string, n int) (batchBounds, error) {
	if n > wire.MaxBatchEntries {
		return batchBounds{}, pfs.Errorf(op, "", pfs.Invalid, "batch of %d entries, the limit is %d", n, wire.MaxBatchEntries)
	}
	return batchBounds{}, nil
}

// add adds an entry with size bytes of content, and returns its path.
func (b *batchBounds) add(op, path string, size int64) (pfs.Path, error) {
	name, err := pfs.ParsePath(path)
	if err != nil {
		return "", err
	}
	if size < 0 || size > wire.MaxBatchBytes-b.bytes {
		return "", pfs.Errorf(op, name, pfs.Invalid, "entry of %d bytes in a batch of at most %d", size, wire.MaxBatchBytes)
	}
	b.bytes += size
	return name, nil
}

// room returns memory for all content.
func (b *batchBounds) room() batchRoom { return make(batchRoom, b.bytes) }

// batchRoom is the memory left for the files of a batch.
type batchRoom []byte

// cut returns n bytes for the next file.
func (r *batchRoom) cut(n int64) []byte {
	p := (*r)[:n:n]
	*r = (*r)[n:]
	return p
}
