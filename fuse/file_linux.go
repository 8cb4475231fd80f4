package fuse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// openFile is a file that is open through the mount: either for reading one version of it, or for
// changes in place.
type openFile struct {
	node    *node
	handle  pfs.Handle // nil if the file is open for reading only
	backed  bool       // the kernel reads and writes a file of this machine; guarded by the lock of the tree
	fixed   bool       // the mount cannot change the file, so that file stays one version
	version uint64     // that was opened for reading
	fh      uint64     // its number; 0 if the kernel does not know it yet

	plain atomic.Uint32 // server.setuids + 1 when the file was seen to have no setuid and setgid bits to clear

	kept   atomic.Pointer[namedHandle] // through which it reads since its name is about to go
	mu     sync.RWMutex                // guards the following
	file   pfs.File                    // nil if handle is not
	writes uint32                      // of node, when file was opened

	end      int64 // of the last write
	streamed int64 // bytes that were written in order up to it

	changed  atomic.Bool             // since the last sync through another open file
	tail     atomic.Pointer[os.File] // of what is written behind
	tailless atomic.Bool             // nothing is written behind
	lost     atomic.Pointer[error]   // of a part that was written behind
}

func (s *server) Open(cancel <-chan struct{}, in *raw.OpenIn, out *raw.OpenOut) raw.Status {
	if s.opts.OpenMode == NoOpen {
		return raw.ENOSYS // the kernel sends no more OPEN
	}
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	n := s.tree.get(in.NodeId)
	if err := s.drain(ctx, n); err != nil {
		return s.status(err)
	}
	name, ok := s.path(n)
	if !ok {
		s.repeat(in.Pid)
		return s.status(pfs.Stale)
	}
	if in.Flags&(syscall.O_ACCMODE|syscall.O_TRUNC) == syscall.O_RDONLY {
		leave := s.enter(n)
		st := s.openToRead(ctx, n, name, out)
		if leave(); st == raw.Status(syscall.ESTALE) {
			s.repeat(in.Pid)
		} else {
			s.retries.end(in.Pid)
		}
		return st
	}
	h, err := s.openHandle(ctx, name, handleFlags(in.Flags), 0)
	if err != nil {
		return s.status(stale(err))
	}
	info, err := h.first(ctx)
	if err == nil && !n.is(info) {
		err = pfs.Stale
	}
	// Kernels before 5.11 do not say who may keep the bits.
	if err == nil && (in.Mode&raw.OPEN_KILL_SUIDGID != 0 || in.Flags&syscall.O_TRUNC != 0 && in.Uid != 0) {
		info, err = h.clearSetuid(ctx, info)
	}
	if err != nil {
		h.Close(ctx)
		return s.status(err)
	}
	o, err := s.writer(n, h, out)
	if err != nil {
		h.Close(ctx)
		return s.status(err)
	}
	s.tree.wrote(n)
	s.renew(n, info)
	out.Fh = s.add(o)
	return raw.OK
}

// setuidBits returns the bits of mode that a change of the file by a user other than root clears: setuid, and setgid if
// the group may execute the file. The kernel leaves this to the server, so it does not ask for the bits before each
// write.
func setuidBits(mode fs.FileMode) fs.FileMode {
	drop := fs.ModeSetuid
	if mode&0o010 != 0 {
		drop |= fs.ModeSetgid
	}
	return mode & drop
}

// clearSetuid clears these bits of the file, which info describes.
func (n *namedHandle) clearSetuid(ctx context.Context, info pfs.Info) (pfs.Info, error) {
	drop := setuidBits(info.Mode)
	if drop == 0 {
		return info, nil
	}
	if err := n.SetAttr(ctx, pfs.AttrMode, pfs.Attrs{Mode: info.Mode &^ drop}); err != nil {
		return info, err
	}
	return n.Stat(ctx)
}

// clearSetuid clears these bits of the file o before a write.
func (s *server) clearSetuid(ctx context.Context, o *openFile) error {
	now := s.setuids.Load() + 1
	h, ok := o.handle.(*namedHandle)
	if !ok || o.plain.Load() == now {
		return nil
	}
	info, err := h.Stat(ctx)
	if err != nil {
		return err
	}
	cleared, err := h.clearSetuid(ctx, info)
	if err != nil {
		return err
	}
	if cleared.Mode != info.Mode {
		s.device.inodeNotify(o.node.num, -1, 0)
	}
	o.plain.Store(now)
	return nil
}

// renew makes the kernel ask for the attributes of n, which was opened, if its attributes differ from info.
// Otherwise it would read only up to the old end of the file.
func (s *server) renew(n *node, info pfs.Info) {
	s.tree.mu.Lock()
	changed := n.shown != sumOf(info)
	s.tree.mu.Unlock()
	if changed {
		s.device.inodeNotify(n.num, -1, 0)
	}
}

// handleFlags converts the flags of open(2), for changes.
func handleFlags(flags uint32) pfs.OpenFlags {
	f := pfs.OpenWrite
	if flags&syscall.O_ACCMODE != syscall.O_WRONLY {
		f |= pfs.OpenRead
	}
	if flags&syscall.O_TRUNC != 0 {
		f |= pfs.OpenTruncate
	}
	if flags&syscall.O_APPEND != 0 {
		f |= pfs.OpenAppend
	}
	return f
}

// openHandle opens a file for changes, and also for reading if the store allows it: other open files
// of the node may then read through the handle.
func (s *server) openHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (*namedHandle, error) {
	return s.openHandleAs(ctx, pfs.HandleID{}, name, flags, perm)
}

func (s *server) openHandleAs(ctx context.Context, id pfs.HandleID, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (*namedHandle, error) {
	named := &namedHandle{s: s, id: pfs.NewID(), name: name, flags: flags | pfs.OpenRead}
	id.ID, id.Opened = named.id, &named.opened
	ctx = pfs.WithHandleID(ctx, id)
	h, err := pfs.OpenHandle(ctx, s.fs, name, named.flags, perm)
	if pfs.KindOf(err) == pfs.Permission && flags&pfs.OpenRead == 0 {
		named.flags = flags
		h, err = pfs.OpenHandle(ctx, s.fs, name, flags, perm)
	}
	if err != nil {
		return nil, err
	}
	named.h = h
	return named, nil
}

// writer returns an open file for the handle h of the file n.
func (s *server) writer(n *node, h *namedHandle, out *raw.OpenOut) (*openFile, error) {
	o := &openFile{node: n, handle: h}
	s.tree.mu.Lock()
	// The kernel uses a local file for n and may use none for o: since n was opened, this account has got the right to change
	// n, or its directory has got a quota, so the store needs the calls. Programs that have n open keep the local file.
	backed := n.extra != nil && n.extra.backing != nil && s.backingFile(o) == nil
	if !backed {
		s.back(o, out)
		n.addOpen(o)
	}
	s.tree.mu.Unlock()
	if backed {
		s.tree.detach(n)
		return nil, pfs.Stale
	}
	return o, nil
}

// openToRead opens one version of the file n.
func (s *server) openToRead(ctx context.Context, n *node, name pfs.Path, out *raw.OpenOut) raw.Status {
	s.tree.mu.Lock()
	dir := n.name.parent
	s.tree.mu.Unlock()
	if dir != nil {
		s.protect(ctx, dir)
	}
	s.tree.mu.Lock()
	writes, fixed := n.writes, n.protection() != Unprotected
	s.tree.mu.Unlock()
	f, err := s.openVersion(ctx, n, name)
	if err != nil {
		return s.status(stale(err))
	}
	info := f.Info()
	o := &openFile{node: n, file: f, version: versionOf(info), writes: writes, fixed: fixed}
	keep, same := s.admit(o, info, out)
	if !same {
		f.Close()
		return s.status(pfs.Stale)
	}
	s.tree.mu.Lock()
	going := n.extra.going != nil
	s.tree.mu.Unlock()
	if going && !o.keep(ctx, s) {
		s.close(o)
		return s.status(pfs.Stale)
	}
	out.OpenFlags |= raw.FOPEN_NOFLUSH
	if keep && !o.backed { // the kernel refuses both
		out.OpenFlags |= raw.FOPEN_KEEP_CACHE
	}
	s.renew(n, info)
	out.Fh = s.add(o)
	return raw.OK
}

// admit adds o, which reads the version info of its node, to the open files. keep is true if the
// kernel's pages belong to this version. If same is false, the name now leads to another file, or the
// pages are in use for another version: the kernel must look the name up again, and gets a new node.
func (s *server) admit(o *openFile, info pfs.Info, out *raw.OpenOut) (keep, same bool) {
	s.tree.mu.Lock()
	n, version := o.node, versionOf(info)
	mixed := n.version != 0 && n.version != version && len(n.opens()) > 0 && (o.fixed || !n.hasID())
	if !n.is(info) || mixed {
		s.tree.mu.Unlock()
		s.tree.detach(n)
		return false, false
	}
	defer s.tree.mu.Unlock()
	keep = version != 0 && n.version == version
	s.back(o, out)
	if n.writes == o.writes && !(o.backed && s.storeFiles()) { // else the kernel has no pages
		s.tree.setVersion(n, version)
	}
	n.addOpen(o)
	return keep, true
}

func (s *server) Create(cancel <-chan struct{}, in *raw.CreateIn, base string, out *raw.CreateOut) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	dir := s.tree.get(in.NodeId)
	name, err := s.child(dir, base)
	if err == nil {
		err = s.drainChild(ctx, dir, base)
	}
	if err != nil {
		return s.status(err)
	}
	mode := unixmode.FileMode(in.Mode&0o7777 | syscall.S_IFREG)
	h, err := s.create(ctx, dir, &in.InHeader, name, mode, in.Flags)
	if err != nil {
		return s.status(err)
	}
	info, err := h.first(ctx)
	if err == nil && in.OpenFlags&raw.OPEN_KILL_SUIDGID != 0 && h.flags&pfs.OpenExclusive == 0 { // the file was there
		info, err = h.clearSetuid(ctx, info)
	}
	if err != nil {
		h.Close(ctx)
		return s.status(err)
	}
	n := s.found(&out.EntryOut, dir, base, info)
	o, err := s.writer(n, h, &out.OpenOut)
	if err != nil {
		h.Close(ctx)
		s.tree.forget(n.num, 1)
		return s.status(err)
	}
	s.tree.wrote(n)
	out.Fh = s.add(o)
	return raw.OK
}

// create opens the file name, and creates it if it does not exist.
func (s *server) create(ctx context.Context, dir *node, hdr *raw.InHeader, name pfs.Path, mode fs.FileMode, flags uint32) (*namedHandle, error) {
	open := handleFlags(flags)
	h, err := s.openHandle(ctx, name, open&^pfs.OpenTruncate|pfs.OpenCreate|pfs.OpenExclusive, mode.Perm())
	there := pfs.KindOf(err) == pfs.Exist
	if there && s.journal.again(hdr.Unique) {
		var made uint64
		err = s.isThere(ctx, name, func(info pfs.Info) bool { made = info.ID; return info.IsRegular() && info.Size == 0 }, err)
		if err == nil { // the store may believe that the other server writes it
			h, err = s.openHandleAs(ctx, pfs.HandleID{Continue: made != 0, File: made}, name, open, 0)
		}
	}
	if there && err != nil && flags&syscall.O_EXCL == 0 {
		if s.opts.shared() { // the kernel checks no rights to a file that it believes to be new: it has to look the name up again
			s.repeat(hdr.Pid)
			return nil, pfs.Stale
		}
		return s.openHandle(ctx, name, open, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := s.own(dir, hdr, mode, func(mask pfs.AttrMask, attrs pfs.Attrs) error {
		h.opened = pfs.Info{}
		return h.SetAttr(ctx, mask, attrs)
	}); err != nil {
		h.Close(ctx)
		return nil, err
	}
	return h, nil
}

func (s *server) Read(cancel <-chan struct{}, in *raw.ReadIn, buf []byte) (raw.ReadResult, raw.Status) {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	if s.opts.OpenMode == NoOpen {
		n, err := s.readUnopened(ctx, s.tree.get(in.NodeId), buf, int64(in.Offset))
		if err != nil {
			return nil, s.status(err)
		}
		return inPlace(n), raw.OK
	}
	o := s.file(in.Fh)
	err := s.drain(ctx, o.node)
	n := 0
	if err == nil {
		n, err = o.readAt(ctx, s, buf, int64(in.Offset))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.status(err)
	}
	return inPlace(n), raw.OK
}

func (o *openFile) readAt(ctx context.Context, s *server, p []byte, off int64) (int, error) {
	if o.handle != nil {
		return o.handle.ReadAt(ctx, p, off)
	}
	if !o.refresh(ctx, s, false) {
		if w := s.tree.anyOpen(o.node, func(w *openFile) bool { return w.handle != nil }); w != nil {
			if n, err := w.readAt(ctx, s, p, off); err == nil || errors.Is(err, io.EOF) {
				return n, err
			}
		}
	}
	n, err := o.readVersion(ctx, p, off)
	if kind := pfs.KindOf(err); err != nil && (kind == pfs.Conflict || kind == pfs.Stale) && o.refresh(ctx, s, true) {
		n, err = o.readVersion(ctx, p, off)
	}
	return n, err
}

// readVersion reads the version that is open.
func (o *openFile) readVersion(ctx context.Context, p []byte, off int64) (int, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.file.ReadAt(ctx, p, off)
}

// info describes the version that is open, without a name if that is not known or o is open for changes.
func (o *openFile) info() pfs.Info {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.file == nil {
		return pfs.Info{}
	}
	return o.file.Info()
}

// refresh opens the file again if it was changed in place: through this mount, or, if conflict is
// set, by others. It reports whether o reads the newest known version. It does not open another file
// of the same name.
func (o *openFile) refresh(ctx context.Context, s *server, conflict bool) bool {
	s.tree.mu.Lock()
	writes, hasID := o.node.writes, o.node.hasID()
	if conflict {
		o.node.known = nil // so that the next open finds the new version
	}
	s.tree.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if writes == o.writes && !conflict {
		return true
	}
	name, ok := s.path(o.node)
	if !ok || writes == o.writes && (o.fixed || !hasID) {
		return false
	}
	f, err := s.fs.Open(ctx, name)
	if err != nil {
		return false
	}
	if !o.node.is(f.Info()) {
		f.Close()
		return false
	}
	o.file.Close()
	o.file, o.writes = f, writes
	return true
}

// settle makes the open files of base in dir independent of this name, which is about to be removed. The caller calls done
// after the operation, also after a failed one.
func (s *server) settle(ctx context.Context, dir *node, base string) (done func()) {
	s.tree.mu.Lock()
	s.awaitRetries(ctx)
	n := s.tree.child(dir, base)
	if n == nil || n.asDir() != nil {
		s.tree.mu.Unlock()
		return func() {}
	}
	for n.rare().going != nil { // it loses another name
		if !s.await(ctx, n.extra.going) {
			s.tree.mu.Unlock()
			return func() {}
		}
		s.awaitRetries(ctx)
	}
	e := n.extra
	e.going = make(chan struct{})
	s.tree.mu.Unlock()
	_ = s.drain(ctx, n)
	s.tree.mu.Lock()
	if b := e.opening; b != nil {
		e.opening = nil
		s.await(ctx, b.done)
	}
	open := slices.Clone(n.opens())
	s.tree.mu.Unlock()
	for _, o := range open {
		if h, ok := o.handle.(*namedHandle); ok {
			if _, err := h.handle(ctx); err == nil { // of another server, perhaps
				s.leave(h)
			}
		} else if o.handle == nil {
			o.refresh(ctx, s, false)
			o.keep(ctx, s)
		}
	}
	return func() {
		s.tree.mu.Lock()
		defer s.tree.mu.Unlock()
		close(e.going)
		e.going = nil
		n.tidy()
	}
}

// enter begins an open of n for reading.
func (s *server) enter(n *node) (leave func()) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	e := n.rare()
	if e.opening == nil {
		e.opening = &opening{done: make(chan struct{})}
	}
	b := e.opening
	b.n++
	return func() {
		s.tree.mu.Lock()
		defer s.tree.mu.Unlock()
		if b.n--; b.n > 0 {
			return
		}
		close(b.done)
		if e.opening == b {
			e.opening = nil
			n.tidy()
		}
	}
}

// await waits for done without the lock of the tree, which the caller holds. It reports whether done is closed.
func (s *server) await(ctx context.Context, done <-chan struct{}) bool {
	s.tree.mu.Unlock()
	defer s.tree.mu.Lock()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// keep makes o read through a handle, which stays with the file when its name is removed: a service finds
// other open files by their names. It reports whether o can still be read.
func (o *openFile) keep(ctx context.Context, s *server) bool {
	name, ok := s.path(o.node)
	if !ok {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r, ok := o.file.(*resumedFile); ok {
		_, _ = r.open(ctx)
	}
	if _, ok := o.file.(StoreFile); ok && s.storeFiles() && s.opts.Broker == nil {
		return true
	}
	if l, ok := o.file.(LocalFile); ok && l.Local() != nil {
		return true
	}
	h := &namedHandle{s: s, id: pfs.NewID(), name: name, flags: pfs.OpenRead}
	var err error
	h.h, err = pfs.OpenHandle(pfs.WithHandleID(ctx, pfs.HandleID{ID: h.id}), s.fs, name, h.flags, 0)
	if err != nil {
		return pfs.KindOf(err) == pfs.Unsupported
	}
	info, err := h.Stat(ctx)
	if err != nil || !o.node.is(info) || info.Version != o.file.Info().Version {
		h.Close(ctx)
		return false
	}
	s.leave(h)
	o.file.Close()
	o.file = keptFile{h, info}
	o.kept.Store(h)
	s.noteOpen(o)
	return true
}

// leave passes the file of h, which is about to lose its name, to the broker for a replacement of this server.
func (s *server) leave(h *namedHandle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.h.(StoreFile)
	if s.opts.Broker == nil || !s.storeFiles() || !ok || h.left {
		return
	}
	if file := f.StoreFile(); file != nil {
		err := s.opts.Broker.Keep(h.id, file)
		if h.left = err == nil; err != nil {
			s.opts.Logger.Warn("a removed file that is open would be lost with this process", "file", h.name, "error", err)
		}
	}
}

// left returns the file of h, which has no name any more, if the server before this one has left it; else nil.
func (s *server) left(h *namedHandle) pfs.Handle {
	store, ok := s.fs.(adopter)
	if s.opts.Broker == nil || !s.storeFiles() || !ok {
		return nil
	}
	f, err := s.opts.Broker.Kept(h.id)
	if f == nil || err != nil {
		return nil
	}
	opened, err := store.Adopt(f, h.name, h.flags&^(pfs.OpenCreate|pfs.OpenExclusive|pfs.OpenTruncate))
	if s.status(err) != raw.OK {
		return nil
	}
	h.left = true
	return opened
}

// keptFile reads one version through a handle.
type keptFile struct {
	handle pfs.Handle
	info   pfs.Info
}

func (f keptFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return f.handle.ReadAt(ctx, p, off)
}

func (f keptFile) Info() pfs.Info { return f.info }

func (f keptFile) Close() error { return f.handle.Close(context.Background()) }

func (s *server) Write(cancel <-chan struct{}, in *raw.WriteIn, data []byte) (uint32, raw.Status) {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	o := s.file(in.Fh)
	if o.handle == nil {
		return 0, raw.EBADF
	}
	if in.WriteFlags&raw.WRITE_KILL_SUIDGID != 0 {
		if err := s.clearSetuid(ctx, o); err != nil {
			return 0, s.status(err)
		}
	}
	done := 0
	if s.journal.again(in.Unique) {
		done = s.written(ctx, o, data, int64(in.Offset))
	}
	n, err := done, error(nil)
	o.changed.Store(true)
	if done < len(data) {
		n, err = s.writeAt(ctx, o, data[done:], int64(in.Offset)+int64(done))
		n += done
	}
	if n > 0 {
		s.tree.wrote(o.node)
		return uint32(n), raw.OK // the rest is written, or fails, in the next request
	}
	return 0, s.status(err)
}

// written returns how many bytes of data another server has already written at off: an append must not be
// repeated.
func (s *server) written(ctx context.Context, o *openFile, data []byte, off int64) int {
	there := make([]byte, len(data))
	n, _ := o.readAt(ctx, s, there, off)
	if !bytes.Equal(there[:n], data[:n]) {
		return 0
	}
	return n
}

func (s *server) Flush(cancel <-chan struct{}, in *raw.FlushIn) raw.Status {
	if s.opts.OpenMode == NoOpen {
		return raw.ENOSYS
	}
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	o := s.file(in.Fh)
	err := s.drain(ctx, o.node)
	if err == nil {
		err = o.lostBehind()
	}
	if f, ok := o.handle.(Flusher); ok && err == nil {
		err = f.Flush(ctx)
	}
	return s.status(err)
}

func (s *server) Fsync(cancel <-chan struct{}, in *raw.FsyncIn) raw.Status {
	if s.opts.OpenMode == NoOpen { // such a mount changes nothing
		return raw.OK
	}
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	o := s.file(in.Fh)
	err := s.drain(ctx, o.node)
	if err == nil {
		err = o.lostBehind()
	}
	if err == nil {
		err = s.sync(ctx, o)
	}
	return s.status(err)
}

// sync returns when all bytes that were written to the file of o, through any open file, are on the store.
func (s *server) sync(ctx context.Context, o *openFile) error {
	for _, other := range s.tree.allOpen(o.node) {
		if lost := other.lost.Load(); lost != nil { // its own program gets this error, too
			return *lost
		}
		if other.handle == nil || other != o && !other.backed && !other.changed.Swap(false) {
			continue
		}
		if err := other.handle.Sync(ctx); err != nil && (other == o || pfs.KindOf(err) != pfs.Closed) { // Close has sent what there was
			other.changed.Store(true)
			return err
		}
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	if f, ok := o.file.(StoreFile); ok && s.storeFiles() { // a program may have written it and closed it
		if file := f.StoreFile(); file != nil {
			return file.Sync()
		}
	}
	return nil
}

func (s *server) Fallocate(cancel <-chan struct{}, in *raw.FallocateIn) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	o := s.file(in.Fh)
	if in.Mode != 0 || o.handle == nil {
		return raw.ENOTSUP
	}
	if in.Uid != 0 {
		if err := s.clearSetuid(ctx, o); err != nil {
			return s.status(err)
		}
	}
	if err := s.drain(ctx, o.node); err != nil {
		return s.status(err)
	}
	s.tree.wrote(o.node)
	o.changed.Store(true)
	return s.status(o.handle.Allocate(ctx, int64(in.Offset), int64(in.Length)))
}

func (s *server) Release(_ <-chan struct{}, in *raw.ReleaseIn) {
	if o, ok := s.openAt(in.Fh).(*openFile); ok {
		_ = s.drain(s.ctx, o.node) // before another server finds in the journal that the file is closed
	}
	if o, ok := s.take(in.Fh).(*openFile); ok { // else the kernel asks once more
		s.close(o)
	}
}

// close ends an open file.
func (s *server) close(o *openFile) {
	s.closeTail(o)
	s.tree.mu.Lock()
	s.unback(o)
	s.tree.mu.Unlock()
	if o.backed && o.handle != nil {
		s.tree.wrote(o.node)
	}
	var err error
	if o.handle != nil {
		err = o.handle.Close(s.ctx)
	} else {
		err = o.file.Close()
	}
	s.tree.released(o)
	s.status(err) // logs it
}
