package hdfsfs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// file is a File. It is bound to one inode, which stays readable after a Commit or Rename
// replaces its name, until HDFS removes its blocks.
type file struct {
	fs   *FS
	name pfs.Path
	st   status
	// staged is set for a part of an upload of name.
	staged bool

	mu     sync.Mutex
	closed bool
	reads  []*read // under way
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
	case st.refusal != "":
		return nil, pfs.Errorf(op, name, pfs.Unsupported, "%s", st.refusal)
	}
	return &file{fs: f, name: name, st: st}, nil
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

// readChunk reads one chunk. If a kept reader fails, it tries a new one: the blocks may have
// moved.
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
	var before findings
	if r != nil {
		n, found, err := h.readWith(ctx, &r, p, off)
		if err == nil || ctx.Err() != nil {
			return n, fail(op, h.name, err)
		}
		before = found
	}
	r, err := h.newReader(ctx)
	if err != nil {
		return 0, h.failed(ctx, op, before, off, err)
	}
	n, found, err := h.readWith(ctx, &r, p, off)
	if err != nil {
		// A DataNode that noticed its damage meanwhile is not named the second time.
		found.damaged = append(found.damaged, before.damaged...)
		return n, h.failed(ctx, op, found, off+int64(n), err)
	}
	return n, nil
}

// readWith reads with *r. If that fails, it closes *r and sets it to nil.
func (h *file) readWith(ctx context.Context, r **reader, p []byte, off int64) (int, findings, error) {
	n, err := (*r).read(ctx, p, off)
	found := (*r).s.findings()
	h.report(found)
	if err != nil {
		(*r).close()
		*r = nil
	}
	return n, found, err
}

// report logs damaged replicas.
func (h *file) report(found findings) {
	for _, d := range found.damaged {
		h.fs.opts.Logger.Warn("a replica is damaged", "file", h.name, "block", fmt.Sprintf("blk_%d", int64(d.block)),
			"offset", d.offset, "datanode", d.dataNode)
	}
}

// failed returns the error of a read at off that no replica could serve.
func (h *file) failed(ctx context.Context, op string, found findings, off int64, err error) error {
	if is(err, pfs.Canceled) || ctx.Err() != nil {
		return fail(op, h.name, err)
	}
	if len(found.damaged) > 0 {
		return h.damaged(op, found, off)
	}
	if changed := h.changed(ctx, op); changed != nil {
		return changed
	}
	if len(found.lost) > 0 {
		return pfs.Errorf(op, h.name, pfs.Unavailable, "byte %d: no DataNode that has it can be read from (%s)", off, strings.Join(unique(found.lost), ", "))
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
func (h *file) damaged(op string, found findings, off int64) error {
	var nodes []string
	for _, d := range found.damaged {
		nodes = append(nodes, d.dataNode)
	}
	d := found.damaged[0]
	text := fmt.Sprintf("byte %d (block blk_%d): the replicas on %s do not match their checksums", off, int64(d.block), strings.Join(unique(nodes), ", "))
	if len(found.lost) > 0 {
		return pfs.Errorf(op, h.name, pfs.Unavailable, "%s, and %s cannot be read from", text, strings.Join(unique(found.lost), ", "))
	}
	return pfs.Errorf(op, h.name, pfs.Integrity, "%s and there is no other: remove the file and copy it again from an intact source", text)
}

func unique(names []string) []string {
	var u []string
	for _, n := range names {
		if !slices.Contains(u, n) {
			u = append(u, n)
		}
	}
	return u
}
