package fuse

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// infoOpener is a file system that can open a file without a request to the store, if the caller
// knows its Info.
type infoOpener interface {
	OpenInfo(ctx context.Context, name pfs.Path, info pfs.Info) (pfs.File, error)
}

// known is what the tree keeps of the Info of a file for an infoOpener.
type known struct {
	version             string
	size                int64
	modTime, changeTime int64  // in ns since 1970; 0 if the store has none
	at                  uint32 // when it was learned, in ticks since the start
	mode                fs.FileMode
}

var start = time.Now()

// tick is the unit of a time that takes less memory. 32 bits of them are more than a year.
const tick = 10 * time.Millisecond

// since returns the time since the start of the process. Changes of the clock do not affect it, and it
// takes less memory than a time.Time.
func since() time.Duration { return time.Since(start) }

// learn keeps what an infoOpener needs. The caller holds the lock of the tree.
func (n *node) learn(info pfs.Info) {
	n.known = nil
	if info.IsRegular() && info.Version != "" && info.Links <= 1 {
		n.known = &known{info.Version, info.Size, nanos(info.ModTime), nanos(info.ChangeTime), uint32(since() / tick), info.Mode}
	}
}

// nanos converts a time to a field of known; moment converts it back.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// protect learns the protection of the directory dir.
func (s *server) protect(ctx context.Context, dir *node) {
	if s.opts.Protection == nil {
		return
	}
	now := since()
	s.tree.mu.Lock()
	d := dir.asDir()
	known := d.protection == Immutable || d.asked > 0 && now-d.asked < s.opts.Timeout
	s.tree.mu.Unlock()
	name, ok := s.path(dir)
	if known || !ok {
		return
	}
	p, err := s.opts.Protection(ctx, name)
	if err != nil {
		s.status(err) // logs it; it is asked again
		return
	}
	if s.opts.ReadOnly {
		p = max(p, Foreign)
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d.protection, d.asked = p, now
}

// forever is longer than any mount lives.
const forever = 10 * 365 * 24 * time.Hour

// timeout returns how long the kernel may cache the entries of a directory with the protection p.
func (s *server) timeout(p Protection) time.Duration {
	if p == Immutable {
		return forever
	}
	return s.opts.Timeout
}

// current returns the known Info of the file n, if it is current. It is current if the mount cannot change the file,
// for as long as the kernel may cache it.
func (s *server) current(n *node) (pfs.Info, bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	k, p := n.known, n.protection()
	if k == nil || p == Unprotected || since()-time.Duration(k.at)*tick >= s.timeout(p) {
		return pfs.Info{}, false
	}
	info := pfs.Info{
		Name: n.name.base, Mode: k.mode, Size: k.size, ModTime: moment(k.modTime), ChangeTime: moment(k.changeTime),
		Version: k.version, Links: 1,
	}
	if n.hasID() {
		info.ID = n.ino
	}
	return info, true
}

// openVersion opens the current version of n for reading.
func (s *server) openVersion(ctx context.Context, n *node, name pfs.Path) (pfs.File, error) {
	if s.infos != nil {
		if info, ok := s.current(n); ok {
			return s.infos.OpenInfo(ctx, name, info)
		}
	}
	f, err := s.fs.Open(ctx, name)
	if err == nil && s.infos != nil {
		s.tree.mu.Lock()
		if n.protection() != Unprotected {
			n.learn(f.Info())
		}
		s.tree.mu.Unlock()
	}
	return f, err
}

// backing is a file of this machine that the kernel reads and writes in place of requests for a node. All open files
// of the node use it.
type backing struct {
	id    int32
	users int
}

// back lets the kernel read and write a backing file for o, which is being opened, if that is allowed. The caller holds
// the lock of the tree.
//
// The kernel does not allow a node to be open through its page cache and with a backing file at once. A mapping of the
// backing file outlives the open file without the knowledge of this process, and would not show changes through the mount.
// So for a file that the mount can change, the backing file must be the store's own file. Every open then uses it.
func (s *server) back(o *openFile, out *raw.OpenOut) {
	n := o.node.rare()
	if n.backing == nil {
		// A backed file that is still in n.open is being closed here. The kernel has closed it already.
		cached := slices.ContainsFunc(n.open, func(o *openFile) bool { return !o.backed })
		if cached || s.openMode() != Passthrough {
			return
		}
		f := s.backingFile(o)
		if f == nil {
			return
		}
		id, err := s.connection.Register(f)
		if err != nil {
			s.unbacked.Store(true)
			s.opts.Logger.Warn("the kernel does not read local files itself here; they are read through its page cache", "error", err)
			return
		}
		n.backing = &backing{id: id}
		s.journal.note(recBacking, []uint64{o.node.num, uint64(id)})
	}
	n.backing.users++
	o.backed = true
	out.BackingID = n.backing.id
	out.OpenFlags |= raw.FOPEN_PASSTHROUGH | raw.FOPEN_NOFLUSH
}

// backingFile returns the file that the kernel may use for o, or nil.
func (s *server) backingFile(o *openFile) *os.File {
	if s.storeFiles() {
		open := any(o.file)
		if h, ok := o.handle.(*namedHandle); ok {
			open = h.h
		}
		if f, ok := open.(StoreFile); ok {
			return f.StoreFile()
		}
		return nil
	}
	if l, ok := o.file.(LocalFile); ok && o.fixed {
		return l.Local()
	}
	return nil
}

// storeFiles reports whether the kernel may use the files of the store. It may not if the mount cannot change files: an open
// file is then one version, which only the store can distinguish from the next.
func (s *server) storeFiles() bool { return s.opts.StoreFiles && !s.opts.ReadOnly }

// unback ends what back began for o. The caller holds the lock of the tree.
func (s *server) unback(o *openFile) {
	if !o.backed {
		return
	}
	n := o.node.rare()
	if n.backing.users--; n.backing.users == 0 {
		s.journal.note(recBacking, []uint64{o.node.num, 0})
		s.journal.flush() // or else another server would use a number that is gone
		_ = s.connection.Unregister(n.backing.id)
		n.backing = nil
	}
}

// openMode returns the mode that is in use.
func (s *server) openMode() string {
	switch {
	case s.opts.OpenMode == NoOpen:
		return NoOpen
	case s.opts.OpenMode == Passthrough && (s.opts.ReadOnly || s.opts.Protection != nil || s.storeFiles()) && s.connection.UID == 0 && !s.unbacked.Load() &&
		s.device.settings.Flags64()&raw.CAP_PASSTHROUGH != 0:
		return Passthrough
	}
	return PageCache
}

// mostUnopened is how many files a mount without opens keeps open on the store.
const mostUnopened = 512

// unopened are files that are read though the kernel has not opened them.
type unopened struct {
	mu    sync.Mutex
	clock uint64
	files map[*node]*unopenedFile
}

type unopenedFile struct {
	pfs.File
	used uint64
}

// file returns the open file of n, or opens the version in the tree.
func (u *unopened) file(ctx context.Context, s *server, n *node) (pfs.File, error) {
	s.tree.mu.Lock()
	k := n.known
	s.tree.mu.Unlock()
	u.mu.Lock()
	u.clock++
	f := u.files[n]
	if f != nil && (k == nil || f.Info().Version == k.version) {
		f.used = u.clock
		u.mu.Unlock()
		return f, nil
	}
	u.mu.Unlock()
	name, ok := s.path(n)
	if !ok {
		return nil, pfs.Stale
	}
	opened, err := s.openVersion(ctx, n, name)
	if err != nil {
		return nil, stale(err)
	}
	if !n.is(opened.Info()) {
		opened.Close()
		return nil, pfs.Stale
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if old := u.files[n]; old != nil {
		old.Close()
	} else if len(u.files) >= mostUnopened {
		u.closeOldest()
	}
	u.clock++
	u.files[n] = &unopenedFile{opened, u.clock}
	return opened, nil
}

// closeOldest closes the file that was not read for the longest time.
func (u *unopened) closeOldest() {
	var oldest *node
	for n, f := range u.files {
		if oldest == nil || f.used < u.files[oldest].used {
			oldest = n
		}
	}
	u.files[oldest].Close()
	delete(u.files, oldest)
}

// forget closes the file of n, which the kernel has forgotten.
func (u *unopened) forget(n *node) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f := u.files[n]; f != nil {
		f.Close()
		delete(u.files, n)
	}
}

// dropOld drops the kernel's pages of n in a mount without opens if they are of another version than
// info. The kernel sees only changes of size and time.
func (s *server) dropOld(n *node, info pfs.Info) {
	version := versionOf(info)
	if s.opts.OpenMode != NoOpen || version == 0 || !info.IsRegular() {
		return
	}
	s.tree.mu.Lock()
	changed := n.version != 0 && n.version != version
	n.version = version
	s.tree.mu.Unlock()
	if changed {
		s.device.inodeNotify(n.num, 0, 0)
	}
}

// readUnopened reads a file of a mount without opens.
func (s *server) readUnopened(ctx context.Context, n *node, p []byte, off int64) (int, error) {
	for try := 0; ; try++ {
		f, err := s.unopened.file(ctx, s, n)
		if err != nil {
			return 0, err
		}
		k, err := f.ReadAt(ctx, p, off)
		switch kind := pfs.KindOf(err); {
		case err == nil || errors.Is(err, io.EOF):
			return k, nil
		case try < 2 && kind == pfs.Closed: // another reader needed the place
		case try < 2 && (kind == pfs.Conflict || kind == pfs.Stale):
			s.tree.mu.Lock()
			n.known = nil
			s.tree.mu.Unlock()
			s.unopened.forget(n)
		default:
			return 0, err
		}
	}
}
