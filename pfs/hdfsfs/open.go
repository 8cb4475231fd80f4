package hdfsfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/kms"
)

// file is a File. It is bound to one inode, which stays readable after a Commit or Rename
// replaces its name, until HDFS removes its blocks.
type file struct {
	fs   *FS
	name pfs.Path
	st   status
	// staged is set for a part of an upload of name.
	staged bool
	key    *kms.Key // of a file in an encryption zone

	mu     sync.Mutex
	closed bool
	reads  []*read                   // under way
	blocks []*hdfsproto.LocatedBlock // that are known, by their offsets
	policy *hdfsproto.ErasureCodingPolicy
}

var _ pfs.File = (*file)(nil)

// Open opens name for reading.
func (f *FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "hdfsfs.Open"
	h, err := f.open(ctx, op, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (f *FS) open(ctx context.Context, op string, name pfs.Path) (*file, error) {
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	st, err := f.describe(ctx, name)
	switch {
	case err != nil:
		return nil, fail(op, name, err)
	case st.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	case st.IsLink():
		return nil, pfs.E(op, name, pfs.Symlink, nil)
	}
	h, err := f.newFile(ctx, name, st)
	return h, fail(op, name, err)
}

// newFile returns the File that st describes.
func (f *FS) newFile(ctx context.Context, name pfs.Path, st status) (*file, error) {
	key, err := f.key(ctx, st.encryption)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, name: name, st: st, key: key}, nil
}

func (h *file) Info() pfs.Info { return h.st.Info }

// Close releases the connections.
func (h *file) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.fs.readers.drop(h)
	return nil
}

func (h *file) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// ReadAt reads verified bytes.
func (h *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "hdfsfs.File.ReadAt"
	if err := pfs.CheckRange(op, h.name, off, len(p)); err != nil {
		return 0, err
	}
	if h.isClosed() {
		return 0, pfs.E(op, h.name, pfs.Closed, nil)
	}
	end := false
	if left := max(0, h.st.Size-off); int64(len(p)) > left {
		p, end = p[:left], true
	}
	for {
		if err := pfs.CheckContext(ctx, op, h.name); err != nil {
			return n, err
		}
		if n == len(p) {
			break
		}
		k, err := h.readChunk(ctx, op, p[n:min(len(p), n+pfs.ChunkSize)], off+int64(n))
		n += k
		if err != nil {
			return n, err
		}
	}
	if end {
		return n, io.EOF
	}
	return n, nil
}

// readChunk reads one chunk.
func (h *file) readChunk(ctx context.Context, op string, p []byte, off int64) (int, error) {
	turn := h.enter(off, int64(len(p)))
	r, ok := h.await(ctx, turn)
	if !ok {
		return 0, pfs.CheckContext(ctx, op, h.name)
	}
	defer func() { h.leave(turn, r) }()
	if r == nil {
		r = h.fs.readers.take(h, off)
	}
	if r == nil {
		r = &reader{Reader: h.fs.nodes.NewReader(h), file: h}
	}
	n, err := r.ReadAt(ctx, p, off)
	if h.key != nil {
		h.key.Crypt(p[:n], p[:n], off)
	}
	if err != nil {
		r.Close()
		r = nil
		return n, h.failed(ctx, op, off+int64(n), err)
	}
	return n, nil
}

// failed returns the error of a read at off.
func (h *file) failed(ctx context.Context, op string, off int64, err error) error {
	if ctx.Err() != nil {
		return fail(op, h.name, context.Cause(ctx)) // whatever else failed meanwhile
	}
	var bad *datanode.ReplicasError
	if is(err, pfs.Canceled) || !errors.As(err, &bad) && !is(err, pfs.NotExist) {
		return fail(op, h.name, err)
	}
	if bad != nil && len(bad.Damaged) > 0 {
		return h.damaged(op, bad, off)
	}
	if changed := h.changed(ctx, op); changed != nil {
		return changed
	}
	if bad != nil && len(bad.Lost) > 0 {
		return pfs.Errorf(op, h.name, pfs.Unavailable, "byte %d: no DataNode that has it can be read from (%s): %w", off, strings.Join(bad.Lost, ", "), bad.Last)
	}
	return fail(op, h.name, err)
}

// changed answers Conflict if the file was replaced or removed: its blocks are gone
// soon after.
func (h *file) changed(ctx context.Context, op string) error {
	if h.staged {
		return nil
	}
	st, err := h.fs.status(ctx, h.name)
	switch {
	case is(err, pfs.NotExist):
		return pfs.Errorf(op, h.name, pfs.Conflict, "it was removed while it was read")
	case err == nil && st.id != h.st.id:
		return pfs.Errorf(op, h.name, pfs.Conflict, "it was replaced while it was read: open it again")
	}
	return nil
}

// damaged returns the error of a block without a good replica.
func (h *file) damaged(op string, bad *datanode.ReplicasError, off int64) error {
	var nodes []string
	for _, d := range bad.Damaged {
		if !slices.Contains(nodes, d.Address) {
			nodes = append(nodes, d.Address)
		}
	}
	text := fmt.Sprintf("byte %d (block blk_%d): the replicas on %s do not match their checksums", off, int64(bad.Damaged[0].Block), strings.Join(nodes, ", "))
	if len(bad.Lost) > 0 {
		return pfs.Errorf(op, h.name, pfs.Unavailable, "%s, and %s cannot be read from", text, strings.Join(bad.Lost, ", "))
	}
	return pfs.Errorf(op, h.name, pfs.Integrity, "%s and there is no other: remove the file and copy it again from an intact source", text)
}
