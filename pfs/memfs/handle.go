package memfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// OpenHandle opens the file name for reading and changing in place.
func (s *FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	const op = "memfs.OpenHandle"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	need := pfs.CanOpenHandle
	if flags&pfs.OpenWrite != 0 && s.can&pfs.CanWriteRandom == 0 || flags&pfs.OpenAppend != 0 {
		need |= pfs.CanAppend
	}
	if err := s.need(op, name, need); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.openNode(op, name, flags, perm)
	if err != nil {
		return nil, err
	}
	return &handle{Handle: rules.Handle{Name: name, Flags: flags}, fs: s, node: n}, nil
}

// openNode returns the file to open, and creates or truncates it if flags say so.
func (s *FS) openNode(op string, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (*node, error) {
	if flags&pfs.OpenCreate != 0 && name != pfs.Root {
		dir, err := s.parent(op, name)
		if err != nil {
			return nil, err
		}
		if there := dir.child(name.Base()); there == nil {
			n := &node{mode: perm.Perm(), mtime: now(), atime: now(), owner: s.owner, version: s.tick()}
			return n, s.linkNew(op, name, n)
		}
	}
	if flags&pfs.OpenExclusive != 0 {
		return nil, pfs.E(op, name, pfs.Exist, nil)
	}
	n, err := s.findFile(op, name)
	if err != nil {
		return nil, err
	}
	var need access
	if flags&pfs.OpenRead != 0 {
		need |= read
	}
	if flags&pfs.OpenWrite != 0 {
		need |= change
	}
	if err := s.may(op, name, n, need); err != nil {
		return nil, err
	}
	if flags&pfs.OpenTruncate != 0 {
		err = s.setContent(op, name, n, content{})
	}
	return n, err
}

// setContent makes data the content of the file n and updates the dependent fields.
func (s *FS) setContent(op string, name pfs.Path, n *node, data content) error {
	delta := tally{bytes: data.size - n.data.size}
	if err := s.checkSpace(op, name, delta.bytes); err != nil {
		return err
	}
	for _, dir := range n.parents {
		if err := dir.checkQuota(op, name, delta); err != nil {
			return err
		}
	}
	for _, dir := range n.parents {
		dir.add(delta)
	}
	n.data, n.version, n.digest, n.madeBy = data, s.tick(), "", ""
	n.touch()
	return nil
}

// handle is a file open for reading and changing in place. It keeps its node when names change.
type handle struct {
	rules.Handle
	fs   *FS
	node *node
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.Handle.ReadAt"
	if err := h.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	h.fs.mu.RLock()
	data := h.node.data
	h.fs.mu.RUnlock()
	return pfs.InChunks(ctx, op, h.Name, p, off, data.readAt)
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "memfs.Handle.WriteAt"
	return pfs.InChunks(ctx, op, h.Name, p, off, func(p []byte, off int64) (int, error) {
		if err := h.Check(ctx, op, pfs.OpenWrite); err != nil || len(p) == 0 {
			return 0, err
		}
		if err := h.write(op, p, off); err != nil {
			return 0, err
		}
		return len(p), nil
	})
}

// write writes one chunk.
func (h *handle) write(op string, p []byte, off int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.Flags&pfs.OpenAppend != 0 {
		off = h.node.data.size
	}
	if err := pfs.CheckRange(op, h.Name, off, len(p)); err != nil {
		return err
	}
	if off != h.node.data.size && h.fs.can&pfs.CanWriteRandom == 0 {
		return pfs.Errorf(op, h.Name, pfs.Unsupported, "the store writes at the end of a file only")
	}
	data := h.node.data.edited(off, len(p))
	data.writeAt(p, off)
	return h.fs.setContent(op, h.Name, h.node, data)
}

func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "memfs.Handle.Truncate"
	if err := h.CheckTruncate(ctx, op, size); err != nil {
		return err
	}
	return h.resize(op, pfs.CanWriteRandom, func(int64) int64 { return size })
}

// Allocate lengthens the file. That reserves the space, because holes count as bytes here.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "memfs.Handle.Allocate"
	if err := h.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return h.resize(op, pfs.CanAllocate, func(size int64) int64 { return max(size, off+n) })
}

// resize sets the size of the file to the result of of, which gets the present size.
func (h *handle) resize(op string, need pfs.Capabilities, of func(size int64) int64) error {
	if err := h.fs.need(op, h.Name, need); err != nil {
		return err
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.fs.setContent(op, h.Name, h.node, h.node.data.resized(of(h.node.data.size)))
}

func (h *handle) Sync(ctx context.Context) error { return h.Check(ctx, "memfs.Handle.Sync", 0) }

func (h *handle) Stat(ctx context.Context) (pfs.Info, error) {
	if err := h.Check(ctx, "memfs.Handle.Stat", 0); err != nil {
		return pfs.Info{}, err
	}
	h.fs.mu.RLock()
	defer h.fs.mu.RUnlock()
	return h.node.info(h.Name.Base()), nil
}

func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "memfs.Handle.SetAttr"
	if err := h.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.fs.setAttr(op, h.Name, h.node, mask, attrs)
}

func (h *handle) Close(context.Context) error {
	h.End()
	return nil
}
