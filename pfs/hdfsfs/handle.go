package hdfsfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// handle is a file that is open for reading. HDFS writes to no offset of a file.
type handle struct{ *file }

var _ pfs.Handle = handle{}

// OpenHandle opens the file name for reading. To open it for writing answers Unsupported.
func (f *FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, _ fs.FileMode) (pfs.Handle, error) {
	const op = "hdfsfs.OpenHandle"
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	if flags&pfs.OpenWrite != 0 {
		return nil, pfs.Errorf(op, name, pfs.Unsupported, "HDFS does not change files in place")
	}
	h, err := f.open(ctx, op, name)
	if err != nil {
		return nil, err
	}
	return handle{h}, nil
}

// check is how every method but ReadAt begins.
func (h handle) check(ctx context.Context, op string) error {
	if h.isClosed() {
		return pfs.E(op, h.name, pfs.Closed, nil)
	}
	return pfs.CheckContext(ctx, op, h.name)
}

// refuse is what all methods answer that need a file open for writing.
func (h handle) refuse(ctx context.Context, op string) error {
	if err := h.check(ctx, op); err != nil {
		return err
	}
	return pfs.Errorf(op, h.name, pfs.Permission, "the file is not open for writing")
}

func (h handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "hdfsfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, h.name, off, len(p)); err != nil {
		return 0, err
	}
	return 0, h.refuse(ctx, op)
}

func (h handle) Truncate(ctx context.Context, size int64) error {
	const op = "hdfsfs.Handle.Truncate"
	if size < 0 {
		return pfs.Errorf(op, h.name, pfs.Invalid, "negative size %d", size)
	}
	return h.refuse(ctx, op)
}

func (h handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "hdfsfs.Handle.Allocate"
	if off < 0 || n <= 0 || off+n < off {
		return pfs.Errorf(op, h.name, pfs.Invalid, "%d bytes from %d on", n, off)
	}
	return h.refuse(ctx, op)
}

// Sync has nothing to do: the file is open for reading only.
func (h handle) Sync(ctx context.Context) error { return h.check(ctx, "hdfsfs.Handle.Sync") }

// Stat describes the inode, whatever its name is now.
func (h handle) Stat(ctx context.Context) (pfs.Info, error) {
	const op = "hdfsfs.Handle.Stat"
	if err := h.check(ctx, op); err != nil {
		return pfs.Info{}, err
	}
	st, err := h.status(ctx)
	if err != nil {
		return pfs.Info{}, fail(op, h.name, err)
	}
	m, ok, err := h.fs.readMark(ctx, inode(h.st.id), st)
	if ok {
		st.Digest = m.Digest
	}
	return st.Info, fail(op, h.name, err)
}

// status asks the NameNode about the inode. HDFS forgets one as soon as it has no name.
func (h handle) status(ctx context.Context) (status, error) {
	st, err := h.fs.statusAt(ctx, inode(h.st.id))
	if is(err, pfs.NotExist) {
		err = pfs.Errorf("hdfsfs.Handle", h.name, pfs.Stale, "the file was removed or replaced")
	}
	st.Name = h.name.Base()
	return st, err
}

// SetAttr sets attributes of the inode.
func (h handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "hdfsfs.Handle.SetAttr"
	if mask&pfs.AttrSize != 0 {
		return h.refuse(ctx, op)
	}
	if err := h.check(ctx, op); err != nil {
		return err
	}
	st, err := h.status(ctx)
	if err == nil {
		err = h.fs.checkAttrs(op, h.name, st, mask, attrs)
	}
	if err == nil {
		err = h.fs.apply(ctx, inode(h.st.id), st, mask, attrs)
	}
	return fail(op, h.name, err)
}

// Close releases the file. It does not wait.
func (h handle) Close(context.Context) error { return h.file.Close() }

// Capabilities returns what can be done below the directory name.
func (f *FS) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	const op = "hdfsfs.Capabilities"
	if err := f.check(ctx, op, name); err != nil {
		return 0, err
	}
	st, err := f.status(ctx, name)
	switch {
	case err != nil:
		return 0, f.placeError(ctx, op, name, err)
	case !st.IsDir():
		return 0, pfs.E(op, name, pfs.NotDir, nil)
	}
	c := pfs.CanRename | pfs.CanRenameDir | pfs.CanKeepEmptyDir | pfs.CanReadStaged | pfs.CanOpenHandle |
		pfs.CanSetMode | pfs.CanSetOwner | pfs.CanSetTimes | pfs.CanXattr | pfs.CanDigest | pfs.CanSpace | pfs.CanUsage
	kept, err := f.keepsAccessTimes(ctx)
	if err != nil {
		return 0, fail(op, name, err)
	}
	if kept {
		c |= pfs.CanSetAccessTime
	}
	if f.hasWeb() {
		c |= pfs.CanRenameNew | pfs.CanSetReplication | pfs.CanConcat | pfs.CanStoreChecksum | pfs.CanSetQuota | pfs.CanLocateBlocks
	}
	return c, nil
}
