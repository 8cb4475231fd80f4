package hdfsfs

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// lingerTime is how long a file stays open in HDFS after a Sync. Closing it, and opening it again for the next write, takes ten
// times as long as the Sync.
const lingerTime = time.Second

// handle is an open file. Writes are appended, because HDFS cannot change existing bytes.
//
// From a write to Close, or until nothing was written for lingerTime after a Sync, the file is open for appending in HDFS, and
// other writers get Conflict.
type handle struct {
	rules.Handle
	fs   *FS
	file atomic.Pointer[file] // with the length that is known

	mu     sync.Mutex  // held while writing
	now    *attempt    // nil if the file is not open in HDFS; its n is the length of the file
	linger *time.Timer // closes it in HDFS; nil before the first Sync
	lost   error       // why nothing more can be written

	from, to int64 // the range that was appended and not yet synced
}

var _ pfs.Handle = (*handle)(nil)

// OpenHandle opens the file name for reading, and for writing at its end. HDFS checks at the first write
// whether the user may write.
//
// With pfs.HandleID.Continue, the file may be open for appending by a process that has died. HDFS then
// closes it first. The file then has all synced bytes, and possibly some of the unsynced bytes. Unsynced
// bytes may be damaged: DataNodes that forwarded them did not compare them with their checksums.
func (f *FS) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	const op = "hdfsfs.OpenHandle"
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	if id, _ := pfs.HandleIDOf(ctx); id.Continue && flags&pfs.OpenWrite != 0 {
		at := f.at(name)
		if id.File != 0 {
			at = inode(id.File)
		}
		if err := f.recoverLease(ctx, at); err != nil {
			return nil, fail(op, name, err)
		}
	}
	file, err := f.open(ctx, op, name)
	found := err == nil || is(err, pfs.IsDir, pfs.Symlink, pfs.Unsupported)
	switch {
	case flags&pfs.OpenExclusive != 0 && found:
		err = pfs.E(op, name, pfs.Exist, nil)
	case flags&pfs.OpenCreate != 0 && is(err, pfs.NotExist):
		err = f.createEmpty(ctx, op, name, perm)
		if err == nil || is(err, pfs.Exist) && flags&pfs.OpenExclusive == 0 {
			file, err = f.open(ctx, op, name)
		}
	}
	if err != nil {
		return nil, err
	}
	h := &handle{Handle: rules.Handle{Name: name, Flags: flags}, fs: f}
	h.file.Store(file)
	if flags&pfs.OpenTruncate != 0 && file.st.Size > 0 {
		if err := h.set(ctx, op, pfs.AttrSize, pfs.Attrs{}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// createEmpty makes an empty file. It answers Exist if the name is taken.
func (f *FS) createEmpty(ctx context.Context, op string, name pfs.Path, perm fs.FileMode) error {
	if f.owner != "" { // it belongs to its owner before it has its name
		return f.WriteBatch(ctx, []pfs.BatchEntry{{Path: name, Mode: perm.Perm(), NoReplace: true}})[0]
	}
	l, err := f.layout(ctx)
	if err == nil {
		l.perm = perm.Perm()
		var a *attempt
		if a, err = f.begin(ctx, f.at(name), l); err == nil {
			err = a.closeFile(ctx)
		}
		if err != nil && a != nil {
			a.abandon()
		}
	}
	return f.placeError(ctx, op, name, err)
}

// path returns the path of the file by inode, which a rename does not change.
func (h *handle) path() string { return inode(h.file.Load().st.id) }

// ReadAt reads the bytes that existed when the file was opened, and those that this handle has
// synced.
func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "hdfsfs.Handle.ReadAt"
	if err := pfs.CheckRange(op, h.Name, off, len(p)); err != nil {
		return 0, err
	}
	if err := h.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	return h.file.Load().ReadAt(ctx, p, off)
}

// WriteAt appends p. Without OpenAppend, off must be the end of the file.
func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "hdfsfs.Handle.WriteAt"
	if err := pfs.CheckRange(op, h.Name, off, len(p)); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	block := h.file.Load().st.BlockSize
	for n < len(p) {
		if err := h.Check(ctx, op, pfs.OpenWrite); err != nil {
			return n, err
		}
		if err := h.begin(ctx, off+int64(n)); err != nil {
			return n, fail(op, h.Name, err)
		}
		blockEnd := block - h.now.n%block // from here, if all blocks before are full
		chunk := p[n:min(len(p), n+int(min(pfs.ChunkSize, blockEnd)))]
		if err := h.now.write(chunk); err != nil {
			return n, h.lose(op, err)
		}
		n, h.to = n+len(chunk), h.now.n
		if rules.SyncDue(h.to-h.from, h.to, block) {
			if err := h.sync(ctx, op); err != nil {
				return n, err
			}
		}
	}
	return n, h.Check(ctx, op, pfs.OpenWrite)
}

// begin opens the file for appending in HDFS, unless it is open. h.mu is held.
func (h *handle) begin(ctx context.Context, off int64) error {
	const op = "hdfsfs.Handle.WriteAt"
	if h.now == nil {
		if err := h.flush(ctx, op); err != nil { // asks the NameNode about bytes of a Sync that got no answer
			return err
		}
		if h.Flags&pfs.OpenAppend == 0 {
			st, err := h.status(ctx)
			if err == nil && off != st.Size {
				err = notAtEnd(op, h.Name, off, st.Size)
			}
			if err != nil {
				return err
			}
		}
		if err := h.acquire(ctx); err != nil {
			return err
		}
	}
	if h.Flags&pfs.OpenAppend == 0 && off != h.now.n {
		return notAtEnd(op, h.Name, off, h.now.n)
	}
	return nil
}

func notAtEnd(op string, name pfs.Path, off, size int64) error {
	return pfs.Errorf(op, name, pfs.Unsupported, "HDFS writes only at the end of a file, which is at byte %d and not %d", size, off)
}

// replicasWait is how long an append waits for the replicas of the last block.
const replicasWait = 10 * time.Second

// awaitReplicas waits until the NameNode knows all replicas of the last block, if an append would write to this block:
// the NameNode would make unknown replicas again. After a wait that times out, no append waits for a minute.
func (h *handle) awaitReplicas(ctx context.Context) {
	st, f := h.file.Load().st, h.fs
	f.mu.Lock()
	failed := time.Now().Before(f.noLocate)
	f.mu.Unlock()
	if failed || st.Size%st.BlockSize == 0 || st.policy != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, replicasWait)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, 200*time.Millisecond) {
		found, err := f.located(within, h.path(), st.Size-1, 1)
		if err == nil && len(found.Blocks) > 0 && len(found.Blocks[0].Locations) >= st.Replication {
			return
		}
		if err == nil {
			err = wait(within, pause)
		}
		if is(err, pfs.Unavailable, pfs.Canceled) && ctx.Err() == nil { // too few DataNodes
			f.mu.Lock()
			f.noLocate = time.Now().Add(time.Minute)
			f.mu.Unlock()
		}
		if err != nil {
			return // Append knows what is wrong
		}
	}
}

// acquire opens the file for appending. It waits for another handle that still has the file open after its last Sync.
func (h *handle) acquire(ctx context.Context) error {
	h.awaitReplicas(ctx)
	for end := time.Now().Add(2 * lingerTime); ; {
		a, err := h.fs.beginAppend(context.WithoutCancel(ctx), h.path(), h.file.Load().st)
		switch {
		case err == nil:
			h.now, h.from, h.to = a, a.n, a.n
			return nil
		case is(err, pfs.NotExist):
			return h.gone()
		case !is(err, pfs.Conflict) || time.Now().After(end):
			return err
		}
		if err := wait(ctx, lingerTime/10); err != nil {
			return err
		}
	}
}

// lose gives up the bytes appended since the last Sync. h.mu is held.
func (h *handle) lose(op string, err error) error {
	h.now.abandon()
	h.now = nil
	h.lost = pfs.Errorf(op, h.Name, pfs.Stale, "%d bytes since the last Sync may be lost: open the file again (%v)", h.to-h.from, cause(err))
	h.from, h.to = 0, 0
	if is(err, pfs.Quota, pfs.NoSpace, pfs.Permission) {
		return fail(op, h.Name, err)
	}
	return h.lost
}

// sync makes appended bytes survive this process, and lets others read them. The file stays open in HDFS for lingerTime, unless
// it is erasure-coded. h.mu is held.
func (h *handle) sync(ctx context.Context, op string) error {
	if h.now == nil || h.now.coding.policy != nil {
		return h.flush(ctx, op)
	}
	if h.from == h.to {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	length, err := h.now.sync()
	if err != nil {
		return h.lose(op, err)
	}
	err = h.now.insist(ctx, h.now.limit(), func() error { return h.now.fsync(ctx, length) })
	if is(err, pfs.Unavailable) {
		return fail(op, h.Name, err) // the bytes are stored, and the next Sync asks again
	}
	if err != nil {
		return h.lose(op, err)
	}
	if h.fs.setTimes(ctx, h.path(), time.Now(), time.Time{}) != nil { // HDFS does it when it closes a file
		return h.flush(ctx, op)
	}
	if h.linger == nil {
		h.linger = time.AfterFunc(lingerTime, h.idle)
	}
	h.linger.Reset(lingerTime)
	return h.check(ctx, op)
}

// idle closes the file in HDFS if nothing was written since the last Sync.
func (h *handle) idle() {
	_ = pfs.Guard("hdfsfs.Handle.Sync", h.Name, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.now != nil && h.from == h.to {
			h.release(context.Background())
		}
		return nil
	})
}

// flush closes the file in HDFS if it is open there, and checks that bytes that were not synced are stored. h.mu is held.
func (h *handle) flush(ctx context.Context, op string) error {
	ctx = context.WithoutCancel(ctx)
	switch {
	case h.lost != nil:
		return h.lost
	case h.from == h.to:
		if h.now != nil {
			h.release(ctx)
		}
		return nil
	case h.now != nil:
		if err := h.now.closeFile(ctx); err != nil {
			return h.lose(op, err)
		}
		h.now = nil
	}
	return h.check(ctx, op)
}

// release closes a file whose bytes are all synced. The file keeps its time, which may have been set since the Sync.
func (h *handle) release(ctx context.Context) {
	a := h.now
	h.now = nil
	st, err := h.status(ctx)
	if a.closeFile(ctx) != nil {
		a.yield(ctx)
		return
	}
	if err == nil {
		_ = h.fs.setTimes(ctx, h.path(), st.ModTime, time.Time{})
	}
}

// check asks the NameNode whether the file has the appended bytes. If the NameNode does not answer, the next Sync asks again.
// DataNodes acknowledge only bytes that match their checksums.
func (h *handle) check(ctx context.Context, op string) error {
	if err := h.refresh(ctx); err != nil {
		return fail(op, h.Name, err)
	}
	if h.file.Load().st.Size < h.to {
		if h.now != nil {
			h.now.abandon()
			h.now = nil
		}
		h.lost = pfs.Errorf(op, h.Name, pfs.Integrity, "the cluster has not stored the %d bytes from byte %d on as they were written: write them again", h.to-h.from, h.from)
		return h.lost
	}
	h.from = h.to
	return nil
}

// refresh asks for the length of the file. It closes readers that know the old length.
func (h *handle) refresh(ctx context.Context) error {
	st, err := h.status(ctx)
	if err != nil {
		return err
	}
	before := h.file.Load()
	h.file.Store(&file{fs: h.fs, name: h.Name, st: st, key: before.key})
	h.fs.readers.drop(before)
	return nil
}

// set sets attributes of the inode. All bytes are synced. h.mu is held.
func (h *handle) set(ctx context.Context, op string, mask pfs.AttrMask, attrs pfs.Attrs) error {
	st, err := h.status(ctx)
	if err == nil {
		err = h.fs.checkAttrs(op, h.Name, st, mask, attrs)
	}
	if err == nil {
		err = h.fs.apply(ctx, h.path(), st, mask, attrs)
	}
	if err == nil && mask&pfs.AttrSize != 0 {
		err = h.refresh(ctx)
	}
	return fail(op, h.Name, err)
}

// Truncate shortens the file. HDFS cannot lengthen files.
func (h *handle) Truncate(ctx context.Context, size int64) error {
	return h.SetAttr(ctx, pfs.AttrSize, pfs.Attrs{Size: size})
}

// SetAttr syncs and sets attributes of the inode.
func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "hdfsfs.Handle.SetAttr"
	if err := h.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.flush(ctx, op); err != nil {
		return err
	}
	return h.set(ctx, op, mask, attrs)
}

// Allocate answers Unsupported: HDFS cannot reserve space.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "hdfsfs.Handle.Allocate"
	if err := h.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return pfs.Errorf(op, h.Name, pfs.Unsupported, "HDFS reserves no space for a file")
}

// Sync returns when the appended bytes are on the disks of the DataNodes, and the NameNode knows their number.
func (h *handle) Sync(ctx context.Context) error {
	const op = "hdfsfs.Handle.Sync"
	if err := h.Check(ctx, op, 0); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sync(ctx, op)
}

// Stat describes the inode, with the bytes that this handle has appended.
func (h *handle) Stat(ctx context.Context) (pfs.Info, error) {
	const op = "hdfsfs.Handle.Stat"
	if err := h.Check(ctx, op, 0); err != nil {
		return pfs.Info{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	st, err := h.status(ctx)
	if err != nil {
		return pfs.Info{}, fail(op, h.Name, err)
	}
	if h.now != nil && h.now.n > st.Size {
		st.Size = h.now.n
		st.Version = version(st.id, st.Size, st.ModTime.UnixMilli())
		return st.Info, nil
	}
	m, ok, err := h.fs.readMark(ctx, h.path(), st)
	if ok {
		st.Digest = m.Digest
	}
	return st.Info, fail(op, h.Name, err)
}

// status asks the NameNode about the inode. HDFS removes an inode as soon as it has no name.
func (h *handle) status(ctx context.Context) (status, error) {
	st, err := h.fs.statusAt(ctx, h.path())
	if is(err, pfs.NotExist) {
		err = h.gone()
	}
	st.Name = h.Name.Base()
	return st, err
}

func (h *handle) gone() error {
	return pfs.Errorf("hdfsfs.Handle", h.Name, pfs.Stale, "the file was removed or replaced")
}

// Close syncs and releases the file.
func (h *handle) Close(ctx context.Context) error {
	if !h.End() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.flush(context.WithoutCancel(ctx), "hdfsfs.Handle.Close")
	_ = h.file.Load().Close()
	return err
}

// Capabilities returns the operations that work below the directory name.
func (f *FS) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	const op = "hdfsfs.Capabilities"
	st, err := f.lookDir(ctx, op, name)
	if err != nil {
		return 0, err
	}
	c := pfs.CanRename | pfs.CanRenameDir | pfs.CanKeepEmptyDir | pfs.CanReadStaged | pfs.CanOpenHandle | pfs.CanAppend |
		pfs.CanSetMode | pfs.CanSetOwner | pfs.CanSetTimes | pfs.CanXattr | pfs.CanDigest | pfs.CanSpace | pfs.CanUsage |
		pfs.CanRenameNew | pfs.CanStoreChecksum | pfs.CanSetQuota | pfs.CanLocateBlocks
	if st.policy == nil {
		c |= pfs.CanSetReplication
	}
	kept, err := f.keepsAccessTimes(ctx)
	if err != nil {
		return 0, fail(op, name, err)
	}
	if kept {
		c |= pfs.CanSetAccessTime
	}
	if !st.zoned {
		c |= pfs.CanConcat
	}
	return c, nil
}
