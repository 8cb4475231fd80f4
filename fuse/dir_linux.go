package fuse

import (
	"context"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// settled is the age from which the kernel may cache the entries of a directory: two changes of a younger
// directory may have the same time.
const settled = 2 * time.Second

// openDir is an open directory. It holds a page of the listing, the next two pages, and the tokens of the
// other known pages.
type openDir struct {
	node *node

	mu      sync.Mutex // guards the following
	pages   []page     // that are known
	loaded  int        // the page that entries is, -1 for none
	entries []pfs.Info
	ahead   *pagesAhead // what follows, if somebody reads in order
}

// pagesAhead are pages that are fetched ahead.
type pagesAhead struct {
	index   int              // of the next one
	fetched chan fetchedPage // holds one; whoever fetches the pages holds another
	stop    context.CancelFunc
}

type fetchedPage struct {
	pfs.Page
	err error
}

// listAhead begins to fetch the pages from token on, of which the first has that index.
func (s *server) listAhead(name pfs.Path, index int, token string) *pagesAhead {
	ctx, stop := context.WithCancel(s.ctx)
	a := &pagesAhead{index, make(chan fetchedPage, 1), stop}
	go func() {
		defer stop()
		for token != "" {
			p, err := s.list(ctx, name, token)
			select {
			case a.fetched <- fetchedPage{p, err}:
			case <-ctx.Done():
				return
			}
			if token = p.Next; err != nil {
				return
			}
		}
	}()
	return a
}

// page is the start of a page of a listing.
type page struct {
	token string
	first uint64 // index of its first entry in the directory
}

func (s *server) OpenDir(cancel <-chan struct{}, in *raw.OpenIn, out *raw.OpenOut) raw.Status {
	if s.opts.OpenMode == NoOpen {
		return raw.ENOSYS // the kernel sends no more OPENDIR, and keeps all entries
	}
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	n := s.tree.get(in.NodeId)
	s.protect(ctx, n)
	if s.isSettled(n) {
		out.OpenFlags = raw.FOPEN_CACHE_DIR | raw.FOPEN_KEEP_CACHE
	}
	out.Fh = s.add(&openDir{node: n})
	return raw.OK
}

// isSettled reports whether the kernel may cache the entries of the directory n. The kernel compares the time of
// the directory before it uses them.
func (s *server) isSettled(n *node) bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	mtime := n.asDir().mtime
	return n.protection() == Immutable || !mtime.IsZero() && time.Since(mtime) > settled
}

// mostUnopenedDirs is how many listings a mount without opens continues.
const mostUnopenedDirs = 16

// dirOf returns the open directory of a request. In a mount without opens, all readers of a directory share one.
func (s *server) dirOf(ctx context.Context, in *raw.ReadIn) *openDir {
	if s.opts.OpenMode != NoOpen {
		return s.openAt(in.Fh).(*openDir)
	}
	n := s.tree.get(in.NodeId)
	s.protect(ctx, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.unopenedDirs[n]
	if d == nil {
		if len(s.unopenedDirs) >= mostUnopenedDirs {
			for _, d := range s.unopenedDirs {
				go d.close()
			}
			clear(s.unopenedDirs) // their readers begin again
		}
		d = &openDir{node: n}
		s.unopenedDirs[n] = d
	}
	return d
}

// listed notes that a reader has come to the end of d.
func (s *server) listed(d *openDir) {
	if s.opts.OpenMode != NoOpen {
		return
	}
	s.mu.Lock()
	delete(s.unopenedDirs, d.node)
	s.mu.Unlock()
	if !s.isSettled(d.node) {
		time.AfterFunc(s.opts.Timeout, func() { s.device.inodeNotify(d.node.num, 0, 0) })
	}
}

func (s *server) ReleaseDir(in *raw.ReleaseIn) {
	if d, ok := s.take(in.Fh).(*openDir); ok { // else the kernel asks once more
		d.close()
	}
}

func (d *openDir) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropAhead()
}

// dropAhead ends the fetching of pages.
func (d *openDir) dropAhead() {
	if d.ahead != nil {
		d.ahead.stop()
		d.ahead = nil
	}
}

func (s *server) FsyncDir(<-chan struct{}, *raw.FsyncIn) raw.Status { return raw.OK }

func (s *server) ReadDir(cancel <-chan struct{}, in *raw.ReadIn, out *raw.DirEntryList) raw.Status {
	return s.readDir(cancel, in, out, func(_ *node, e raw.DirEntry, _ *pfs.Info) bool { return out.AddDirEntry(e) })
}

func (s *server) ReadDirPlus(cancel <-chan struct{}, in *raw.ReadIn, out *raw.DirEntryList) raw.Status {
	return s.readDir(cancel, in, out, func(dir *node, e raw.DirEntry, info *pfs.Info) bool {
		entry := out.AddDirLookupEntry(e)
		if entry == nil || info == nil {
			return entry != nil
		}
		s.found(entry, dir, e.Name, *info)
		if info.Links == 0 && info.IsRegular() && s.linksKnown.Load() {
			entry.SetAttrTimeout(0) // the listing has left it out
		}
		return true
	})
}

// readDir passes the entries from in.Offset on to add until it returns false.
func (s *server) readDir(cancel <-chan struct{}, in *raw.ReadIn, out *raw.DirEntryList, add func(dir *node, e raw.DirEntry, info *pfs.Info) bool) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	d := s.dirOf(ctx, in)
	name, ok := s.path(d.node)
	if !ok {
		return raw.OK // it was removed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// The first request, or rewinddir(3). The first one is not for the start if that was in the kernel's cache.
	if in.Offset == 0 || d.pages == nil {
		d.pages, d.loaded = []page{{}}, -1
		d.dropAhead()
	}
	for off := in.Offset; ; off++ {
		e := raw.DirEntry{Mode: syscall.S_IFDIR, Ino: d.node.ino, Off: off + 1}
		var info *pfs.Info
		switch off {
		case 0:
			e.Name = "."
		case 1:
			e.Name, e.Ino = "..", 0
		default:
			var index uint64
			var err error
			info, index, err = d.entry(ctx, s, name, off-2)
			switch {
			case err != nil && off > in.Offset:
				return raw.OK // the next request fails
			case err != nil:
				return s.status(stale(err))
			case info == nil:
				s.listed(d)
				return raw.OK
			}
			off = index + 2
			e = raw.DirEntry{Name: info.Name, Mode: unixmode.Bits(info.Mode), Ino: s.tree.inodeOf(d.node, *info), Off: off + 1}
		}
		if !add(d.node, e, info) {
			return raw.OK
		}
	}
}

// entry returns the first entry whose index is at least the given one, and its index; nil at the end.
func (d *openDir) entry(ctx context.Context, s *server, name pfs.Path, index uint64) (*pfs.Info, uint64, error) {
	for {
		i := sort.Search(len(d.pages), func(i int) bool { return d.pages[i].first > index }) - 1
		if err := d.load(ctx, s, name, i); err != nil {
			return nil, 0, err
		}
		if at := index - d.pages[i].first; at < uint64(len(d.entries)) {
			return &d.entries[at], index, nil
		}
		if i == len(d.pages)-1 {
			return nil, 0, nil
		}
		index = max(index, d.pages[i+1].first) // a page that was read again may have become shorter
	}
}

// load reads page i into entries.
func (d *openDir) load(ctx context.Context, s *server, name pfs.Path, i int) error {
	if d.loaded == i {
		return nil
	}
	inOrder := i == d.loaded+1
	p, err := d.list(ctx, s, name, i)
	if err != nil {
		return err
	}
	d.loaded, d.entries = i, p.Entries
	if inOrder && p.Next != "" && d.ahead == nil {
		d.ahead = s.listAhead(name, i+1, p.Next)
	}
	if len(p.Unnamed) > 0 {
		s.opts.Logger.Warn("entries have names that no path can have, and are left out",
			"directory", name, "count", len(p.Unnamed), "names", strings.Join(p.Unnamed[:min(10, len(p.Unnamed))], " "))
	}
	if i == len(d.pages)-1 && p.Next != "" {
		d.pages = append(d.pages, page{p.Next, d.pages[i].first + uint64(len(p.Entries))})
	}
	return nil
}

// list returns page i, which may be on its way.
func (d *openDir) list(ctx context.Context, s *server, name pfs.Path, i int) (pfs.Page, error) {
	if a := d.ahead; a != nil && a.index == i {
		select {
		case p := <-a.fetched:
			if p.err == nil {
				a.index++
				return p.Page, nil
			}
		case <-ctx.Done():
			return pfs.Page{}, pfs.CheckContext(ctx, "fuse.list", name)
		}
	}
	d.dropAhead()
	return s.list(ctx, name, d.pages[i].token)
}

func (s *server) list(ctx context.Context, name pfs.Path, token string) (pfs.Page, error) {
	return s.fs.List(ctx, name, pfs.ListOptions{Token: token, Attrs: true})
}
