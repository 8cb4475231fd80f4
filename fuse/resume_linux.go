package fuse

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// The kinds of open files in the journal.
const (
	openedDir = iota
	openedFile
	openedHandle
)

// hasTail is set beside the 1 of a backed file if the broker keeps a tail of it.
const hasTail = 2

// noteNode records n with all that its lookup has set.
func (j *journal) noteNode(n *node) {
	if j != nil {
		j.note(recNode, appendNode(nil, n), n.name.base, n.targetOrNone())
	}
}

// appendNode appends the integers of the record of n.
func appendNode(to []uint64, n *node) []uint64 {
	var parent, flags uint64
	if n.name.parent != nil {
		parent = n.name.parent.num
	}
	if n.hasID() {
		flags = 1
	}
	return append(to, n.num, parent, n.ino, uint64(n.kind()), flags, uint64(n.refs), n.version)
}

func (n *node) targetOrNone() string {
	if n.extra == nil {
		return ""
	}
	return n.extra.target
}

// noteOpen records a change of the open file o. s.mu is not held.
func (s *server) noteOpen(o *openFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal != nil && s.files[o.fh] == o && !s.unsaid[o.fh] {
		ints, strings := openRecord(o.fh, o)
		s.journal.note(recOpen, ints, strings...)
	}
}

func openRecord(fh uint64, open any) (ints []uint64, strings []string) {
	switch o := open.(type) {
	case *openDir:
		return []uint64{fh, o.node.num, openedDir, 0, 0, 0}, []string{"", ""}
	case *openFile:
		h, ok := o.handle.(*namedHandle)
		if kept := o.kept.Load(); kept != nil {
			h, ok = kept, true
		}
		backed := uint64(0)
		if o.backed {
			backed = 1
		}
		if ok {
			if o.tail.Load() != nil {
				backed |= hasTail
			}
			return []uint64{fh, o.node.num, openedHandle, uint64(h.flags), h.file.Load(), backed}, []string{h.id, string(h.name)}
		}
		fixed := uint64(0)
		if o.fixed {
			fixed = 1
		}
		return []uint64{fh, o.node.num, openedFile, fixed, o.version, backed}, []string{"", ""}
	}
	panic("an open file of an unknown type")
}

// resume restores one record of another server. The tree has its root, and no lock is held.
func (s *server) resume(kind byte, ints []uint64, strings []string) error {
	t := s.tree
	at := func(i int) *node { return t.nodes.get(ints[i]) }
	switch kind {
	case recNode:
		n := &node{num: ints[0], ino: ints[2], bits: fs.FileMode(ints[3]), refs: uint32(ints[5]), version: ints[6]}
		if ints[4]&1 != 0 {
			n.bits |= inoIsID
		}
		if n.num == t.root.num {
			t.root.ino, t.root.bits = n.ino, n.bits
			return nil
		}
		if n.kind().IsDir() {
			n.rare().dir = &dirState{}
		}
		if strings[1] != "" {
			n.rare().target = strings[1]
		}
		t.nodes.set(n)
		t.last = max(t.last, n.num)
		if ints[1] != 0 {
			parent := at(1)
			if parent == nil || parent.asDir() == nil {
				return errJournal
			}
			t.addName(n, link{parent, strings[0]})
		}
		return nil
	case recClose:
		o := s.files[ints[0]]
		delete(s.files, ints[0])
		if o, ok := o.(*openFile); ok {
			t.released(o)
		}
		return nil
	case recCounters:
		t.last, s.lastFH = max(t.last, ints[0]), max(s.lastFH, ints[1])
		return nil
	case recOpen:
		return s.resumeOpen(ints, strings)
	}
	n := at(0)
	if n == nil {
		if kind == recForget || kind == recVersion || kind == recDetach || kind == recBacking {
			return nil // it was dropped before
		}
		return errJournal
	}
	switch kind {
	case recName:
		if at(1) == nil {
			return errJournal
		}
		t.addName(n, link{at(1), strings[0]})
	case recRef:
		n.refs++
	case recForget:
		t.forget(n.num, ints[1])
	case recUnname:
		t.unname(n, strings[0])
	case recRename:
		if at(1) == nil {
			return errJournal
		}
		t.rename(n, strings[0], at(1), strings[1])
	case recDetach:
		t.detach(n)
	case recLinked:
		t.linked[n.ino] = n
	case recVersion:
		n.version = ints[1]
	case recBacking:
		if n.rare().backing = nil; ints[1] != 0 {
			n.rare().backing = &backing{id: int32(ints[1])}
		}
		n.tidy()
	}
	return nil
}

func (s *server) resumeOpen(ints []uint64, strings []string) error {
	n := s.tree.nodes.get(ints[1])
	if n == nil {
		return errJournal
	}
	s.lastFH = max(s.lastFH, ints[0])
	o := &openFile{node: n, fh: ints[0], backed: ints[5]&^hasTail != 0}
	if old, ok := s.files[o.fh].(*openFile); ok { // since then, it reads through a handle
		defer s.tree.released(old)
	}
	switch ints[2] {
	case openedDir:
		s.files[ints[0]] = &openDir{node: n, pages: []page{{}}, loaded: -1}
		return nil
	case openedFile:
		o.fixed, o.version = ints[3] != 0, ints[4]
		o.file = &resumedFile{s: s, node: n, version: ints[4]}
	default:
		h := &namedHandle{s: s, node: n, id: strings[0], name: pfs.Path(strings[1]), flags: pfs.OpenFlags(ints[3])}
		h.file.Store(ints[4])
		o.changed.Store(true)
		if o.handle = h; ints[5]&hasTail != 0 {
			s.tails = append(s.tails, o.fh)
		}
	}
	s.files[ints[0]] = o
	n.addOpen(o)
	return nil
}

// resumed completes what resume began.
func (s *server) resumed() {
	for _, o := range s.files {
		if o, ok := o.(*openFile); ok && o.backed && o.node.extra != nil && o.node.extra.backing != nil {
			o.node.extra.backing.users++
		} else if ok {
			o.backed = false
		}
	}
	for n := range s.tree.nodes.all() {
		s.tree.drop(n)
	}
	for _, fh := range slices.Compact(slices.Sorted(slices.Values(s.tails))) {
		if o, ok := s.files[fh].(*openFile); ok && s.parts != nil {
			s.resumeBehind(o)
		}
	}
	s.tails = nil
}

// rewriteJournal makes the journal shorter if it is time for that.
func (s *server) rewriteJournal() {
	if !s.journal.full() {
		return
	}
	t := s.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.rewrite(func(emit func(kind byte, ints []uint64, strings ...string)) {
		emit(recCounters, []uint64{t.last, s.lastFH})
		var ints []uint64        // reused
		dirs := map[*node]bool{} // that were emitted
		var emitNode func(n *node)
		emitNode = func(n *node) { // after its parent
			if dirs[n] {
				return
			}
			if parent := n.name.parent; parent != nil {
				emitNode(parent)
			}
			if n.kind().IsDir() {
				dirs[n] = true
			}
			ints = appendNode(ints[:0], n)
			emit(recNode, ints, n.name.base, n.targetOrNone())
		}
		for n := range t.nodes.all() {
			emitNode(n)
		}
		for n := range t.nodes.all() {
			if n.extra == nil {
				continue
			}
			for _, l := range n.extra.more {
				emit(recName, []uint64{n.num, l.parent.num}, l.base)
			}
			if n.extra.backing != nil {
				emit(recBacking, []uint64{n.num, uint64(n.extra.backing.id)})
			}
		}
		for _, n := range t.linked {
			emit(recLinked, []uint64{n.num})
		}
		for fh, open := range s.files {
			if s.unsaid[fh] {
				continue
			}
			ints, strings := openRecord(fh, open)
			emit(recOpen, ints, strings...)
		}
	})
}

// resumedFile is a file that was open for reading in a server that has died. It is opened again when it is
// needed.
type resumedFile struct {
	s       *server
	node    *node
	version uint64

	opening sync.Mutex
	file    atomic.Pointer[pfs.File]
}

// open returns the file, if it still has its version.
func (f *resumedFile) open(ctx context.Context) (pfs.File, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	if file := f.file.Load(); file != nil {
		return *file, nil
	}
	const op = "fuse.resumedFile"
	name, ok := f.s.path(f.node)
	if !ok {
		return nil, pfs.Errorf(op, "", pfs.Stale, "a file that was removed while it was open cannot be read by another server")
	}
	opened, err := f.s.fs.Open(ctx, name)
	if err != nil {
		return nil, stale(err)
	}
	if info := opened.Info(); !f.node.is(info) || f.version != versionOf(info) {
		opened.Close()
		return nil, pfs.Errorf(op, name, pfs.Stale, "the file changed while its server was replaced")
	}
	f.file.Store(&opened)
	return opened, nil
}

func (f *resumedFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	file, err := f.open(ctx)
	if err != nil {
		return 0, err
	}
	return file.ReadAt(ctx, p, off)
}

func (f *resumedFile) Info() pfs.Info {
	if file := f.file.Load(); file != nil {
		return (*file).Info()
	}
	return pfs.Info{}
}

func (f *resumedFile) Local() *os.File {
	if file := f.file.Load(); file != nil {
		if l, ok := (*file).(LocalFile); ok {
			return l.Local()
		}
	}
	return nil
}

func (f *resumedFile) Close() error {
	if file := f.file.Load(); file != nil {
		return (*file).Close()
	}
	return nil
}

// namedHandle is a handle that another server can continue. One that does so opens it when it is needed.
type namedHandle struct {
	s     *server
	node  *node  // nil if this server has opened it
	id    string // chosen by the server that opened it
	name  pfs.Path
	flags pfs.OpenFlags
	file  atomic.Uint64 // Info.ID, 0 if the store has none

	opened pfs.Info // of the file when it was opened; not known if Name is empty

	mu   sync.Mutex // guards the following
	h    pfs.Handle
	left bool // the broker keeps the file
}

// handle returns the open handle.
func (n *namedHandle) handle(ctx context.Context) (pfs.Handle, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.h != nil {
		return n.h, nil
	}
	const op = "fuse.namedHandle"
	name, ok := n.s.path(n.node)
	if !ok {
		if n.h = n.s.left(n); n.h != nil {
			return n.h, nil
		}
	}
	if !ok && !n.node.hasID() {
		return nil, pfs.Errorf(op, n.name, pfs.Stale, "a file that was removed while it was open cannot be used by another server")
	}
	if !ok { // a service has it open, or stagefs has kept it, or another file has the name
		name = n.name
	}
	flags := n.flags &^ (pfs.OpenCreate | pfs.OpenExclusive | pfs.OpenTruncate)
	h, err := pfs.OpenHandle(pfs.WithHandleID(ctx, pfs.HandleID{ID: n.id, File: n.file.Load(), Continue: true}), n.s.fs, name, flags, 0)
	if err != nil {
		return nil, stale(err)
	}
	info, err := h.Stat(ctx)
	if err == nil && !n.node.is(info) {
		err = pfs.Errorf(op, name, pfs.Stale, "another file has this name now")
	}
	if err != nil {
		h.Close(ctx)
		return nil, err
	}
	n.h = h
	return h, nil
}

func (n *namedHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	h, err := n.handle(ctx)
	if err != nil {
		return 0, err
	}
	return h.ReadAt(ctx, p, off)
}

func (n *namedHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	h, err := n.handle(ctx)
	if err != nil {
		return 0, err
	}
	return h.WriteAt(ctx, p, off)
}

func (n *namedHandle) do(ctx context.Context, do func(h pfs.Handle) error) error {
	h, err := n.handle(ctx)
	if err != nil {
		return err
	}
	return do(h)
}

func (n *namedHandle) Truncate(ctx context.Context, size int64) error {
	return n.do(ctx, func(h pfs.Handle) error { return h.Truncate(ctx, size) })
}

func (n *namedHandle) Allocate(ctx context.Context, off, size int64) error {
	return n.do(ctx, func(h pfs.Handle) error { return h.Allocate(ctx, off, size) })
}

func (n *namedHandle) Sync(ctx context.Context) error {
	return n.do(ctx, func(h pfs.Handle) error { return h.Sync(ctx) })
}

func (n *namedHandle) Stat(ctx context.Context) (info pfs.Info, err error) {
	err = n.do(ctx, func(h pfs.Handle) error { info, err = h.Stat(ctx); return err })
	if err == nil {
		n.file.Store(info.ID)
	}
	return info, err
}

// first is Stat of a handle that was just opened. It needs no request if the store has described the file with the open.
func (n *namedHandle) first(ctx context.Context) (pfs.Info, error) {
	if n.opened.Name == "" {
		return n.Stat(ctx)
	}
	n.file.Store(n.opened.ID)
	return n.opened, nil
}

func (n *namedHandle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	return n.do(ctx, func(h pfs.Handle) error { return h.SetAttr(ctx, mask, attrs) })
}

// Flush is that of the handle, if it is a Flusher.
func (n *namedHandle) Flush(ctx context.Context) error {
	return n.do(ctx, func(h pfs.Handle) error {
		if f, ok := h.(Flusher); ok {
			return f.Flush(ctx)
		}
		return nil
	})
}

// Close also closes a handle that another server has opened and this one has not used: the store may
// still have to complete writes.
func (n *namedHandle) Close(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	err := n.do(ctx, func(h pfs.Handle) error { return h.Close(ctx) })
	n.mu.Lock()
	left := n.left
	n.left = false
	n.mu.Unlock()
	if left || n.node != nil && n.s.opts.Broker != nil && n.s.storeFiles() { // a dead server may have left it
		_ = n.s.opts.Broker.Drop(n.id)
	}
	return err
}
