package fuse

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// server answers the requests of one mount.
type server struct {
	raw.RawFileSystem // returns ENOSYS for methods that are not implemented
	fs                pfs.FileSystem
	opts              Options
	self              raw.Owner
	asRoot            bool // new files belong to the calling user
	ctx               context.Context
	stop              context.CancelFunc
	tree              *tree
	device            *device
	connection        *Connection
	journal           *journal // nil if no other server can take over

	mu     sync.Mutex // guards the following
	files  map[uint64]any
	unsaid map[uint64]bool // numbers of files that the kernel does not know yet
	lastFH uint64
	spaces map[pfs.Path]space // of directories

	unopenedDirs map[*node]*openDir // that are being listed, in a mount without opens

	logged     atomic.Int64 // when the last message was, in ns since 1970
	unlogged   atomic.Int64 // errors since
	linksKnown atomic.Bool  // the store counts links

	setuids atomic.Uint32 // requests that have given a file a setuid or setgid bit

	retries retries

	infos    infoOpener  // nil if the file system is not one
	unbacked atomic.Bool // the kernel refused to read a local file
	unopened unopened

	tails []uint64    // numbers of open files that have had one in another server
	parts chan []byte // buffers for what is written behind, nil until they are used; nil if nothing is
}

func (s *server) String() string { return "pfs" }

// path returns a path of n on the file system; ok is false if n has no name any more.
func (s *server) path(n *node) (name pfs.Path, ok bool) {
	name, ok = s.tree.path(n)
	return s.below(name), ok
}

// below returns the path on the file system of a path in the mount.
func (s *server) below(name pfs.Path) pfs.Path {
	switch {
	case s.opts.Root == pfs.Root || name == "":
		return name
	case name == pfs.Root:
		return s.opts.Root
	}
	return s.opts.Root + name
}

// child returns the path of base in the directory dir.
func (s *server) child(dir *node, base string) (pfs.Path, error) {
	name, ok := s.path(dir)
	switch {
	case !ok:
		return "", pfs.NotExist // the directory was removed
	case len(base) > pfs.MaxName || len(name)+1+len(base) > pfs.MaxPath:
		return "", pfs.E("fuse.child", name, pfs.Invalid, syscall.ENAMETOOLONG)
	case pfs.CheckName(base) != "":
		return "", pfs.Errorf("fuse.child", "", pfs.Invalid, "%q in %s: %s", base, name, pfs.CheckName(base))
	}
	return name.Join(base), nil
}

// add returns a number for an open file or directory. The journal has it from commit on.
func (s *server) add(open any) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastFH++
	s.files[s.lastFH] = open
	if o, ok := open.(*openFile); ok {
		o.fh = s.lastFH
	}
	if s.journal != nil {
		s.unsaid[s.lastFH] = true
	}
	return s.lastFH
}

// commit records the answer to a request and the open file in it, in one batch: if this process were killed
// between them, the kernel would repeat the request, and the first file would never be closed.
func (s *server) commit(request, answer []byte) {
	if fh := openedBy(request, answer); fh != 0 && s.journal != nil {
		s.mu.Lock()
		delete(s.unsaid, fh)
		ints, strings := openRecord(fh, s.files[fh])
		s.journal.answerOpen(request, answer, ints, strings)
		s.mu.Unlock()
	}
	s.journal.commit(request, answer)
}

// take removes an open file or directory, and returns it.
func (s *server) take(fh uint64) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, ok := s.files[fh]
	if ok {
		delete(s.files, fh)
		s.journal.note(recClose, []uint64{fh})
	}
	return open
}

func (s *server) openAt(fh uint64) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[fh]
}

// file returns the open file fh. The kernel makes no request with a number that it was not given.
func (s *server) file(fh uint64) *openFile { return s.openAt(fh).(*openFile) }

func (s *server) Forget(num, count uint64) {
	n := s.tree.get(num)
	s.tree.forget(num, count)
	if s.opts.OpenMode == NoOpen && n != nil && s.tree.get(num) == nil {
		s.unopened.forget(n)
	}
}
