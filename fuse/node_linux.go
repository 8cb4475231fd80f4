package fuse

import (
	"hash/fnv"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// tree holds the nodes that the kernel knows. Its lock guards all fields of all nodes, and is never
// held during a call of the store.
type tree struct {
	mu     sync.Mutex
	root   *node
	nodes  nodeTable
	names  nameTable        // first names
	more   map[link]*node   // further names
	linked map[uint64]*node // files with several names, by Info.ID
	last   uint64           // number of the newest node; numbers are not used twice
	learns bool             // nodes have known

	journal *journal // of what changes in the tree
}

// node is a file or directory that the kernel knows. There may be millions, so fields that only some need
// are in extra.
type node struct {
	num     uint64
	ino     uint64
	version uint64      // of the pages that the kernel may hold, a number of versionOf; 0 if unknown
	refs    uint32      // lookups that the kernel has not forgotten
	writes  uint32      // through this mount
	bits    fs.FileMode // the type, and inoIsID
	shown   uint32      // the size and time that the kernel was told last, as sumOf has them
	name    link        // the zero link if the node has no name any more
	extra   *extra      // nil if there is nothing in it
	known   *known      // of a file, if the tree learns
}

// inoIsID is set in node.bits if the inode number is Info.ID.
const inoIsID fs.FileMode = 1

func (n *node) kind() fs.FileMode { return n.bits & fs.ModeType }

func (n *node) hasID() bool { return n.bits&inoIsID != 0 }

// asDir returns the directory part of n, or nil if n is not a directory.
func (n *node) asDir() *dirState {
	if n.extra == nil {
		return nil
	}
	return n.extra.dir
}

// dirState is the part of a node for directories.
type dirState struct {
	children int         // names of nodes
	mode     fs.FileMode // as last seen
	uid, gid uint32      // as last seen
	mtime    time.Time   // as last seen

	protection Protection
	asked      time.Duration // when Options.Protection was, as since has it; 0 if never
}

// extra has the fields that few nodes need.
type extra struct {
	dir     *dirState // of a directory
	target  string    // of a link
	more    []link    // further names
	open    []*openFile
	backing *backing      // nil unless the kernel reads a local file
	going   chan struct{} // closed when the operation has ended that takes a name; nil if there is none
	opening *opening      // opens for reading that are being done; nil if there are none
	behind  *behind       // of a file that is written behind
}

// opening are opens that are being done.
type opening struct {
	n    int
	done chan struct{} // closed when n is 0 again
}

// rare returns the extra of n, which it makes if there is none.
func (n *node) rare() *extra {
	if n.extra == nil {
		n.extra = &extra{}
	}
	return n.extra
}

// tidy drops an extra that is empty.
func (n *node) tidy() {
	if e := n.extra; e != nil && e.dir == nil && e.target == "" && len(e.more) == 0 && len(e.open) == 0 && e.going == nil && e.opening == nil && e.backing == nil && e.behind == nil {
		n.extra = nil
	}
}

// protection returns the protection of the files in the directory n, or of the file n.
func (n *node) protection() Protection {
	if n.asDir() == nil {
		n = n.name.parent
	}
	if n == nil { // the file has no name any more
		return Unprotected
	}
	return n.asDir().protection
}

// opens returns the open files of n.
func (n *node) opens() []*openFile {
	if n.extra == nil {
		return nil
	}
	return n.extra.open
}

// versionOf returns a number for the version of info, 0 if it has none.
func versionOf(info pfs.Info) uint64 {
	if info.Version == "" {
		return 0
	}
	return hash(info.Version)
}

// sumOf returns a number for the size and time of a file.
func sumOf(info pfs.Info) uint32 {
	sum := uint64(info.Size)*0x9e3779b97f4a7c15 ^ uint64(info.ModTime.UnixNano())*0xc2b2ae3d27d4eb4f
	return uint32(sum >> 32)
}

// hash returns a hash above 1.
func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return max(2, h.Sum64())
}

// link is one name of a node.
type link struct {
	parent *node
	base   string
}

func newTree(info pfs.Info) *tree {
	root := &node{num: 1, refs: 1}
	t := &tree{root: root, nodes: nodeTable{}, names: newNameTable(), more: map[link]*node{}, linked: map[uint64]*node{}, last: 1}
	t.nodes.set(root)
	root.identify(pfs.Root, info)
	root.see(info)
	return t
}

// identify records what distinguishes the file of n, found at name, from others.
func (n *node) identify(name pfs.Path, info pfs.Info) {
	n.ino, n.bits = inode(name, info), info.Mode.Type()
	if info.ID != 0 {
		n.bits |= inoIsID
	}
	if info.IsDir() {
		n.rare().dir = &dirState{}
	}
	if info.Target != "" {
		n.rare().target = info.Target
	}
}

// inode returns the inode number of the file at name.
func inode(name pfs.Path, info pfs.Info) uint64 {
	if info.ID != 0 {
		return info.ID
	}
	return hash(string(name))
}

// inodeOf returns the inode number of an entry of a listing of dir, which is the number of its node. A node keeps its
// number when it gets another name.
func (t *tree) inodeOf(dir *node, info pfs.Info) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.child(dir, info.Name); n != nil && n.is(info) {
		return n.ino
	}
	at, _ := t.pathOf(dir)
	return inode(at.Join(info.Name), info)
}

// is reports whether info describes the file of n.
func (n *node) is(info pfs.Info) bool {
	sameTarget := info.Target == "" || n.extra != nil && n.extra.target == info.Target
	return n.kind() == info.Mode.Type() && sameTarget && (!n.hasID() || info.ID == 0 || n.ino == info.ID)
}

// see notes attributes of a directory that the tree needs.
func (n *node) see(info pfs.Info) {
	if d := n.asDir(); d != nil {
		d.mode, d.uid, d.gid, d.mtime = info.Mode, info.UID, info.GID, info.ModTime
	}
}

func (t *tree) get(num uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes.get(num)
}

// path returns a path of n below the root of the mount; ok is false if n has no name any more.
func (t *tree) path(n *node) (name pfs.Path, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pathOf(n)
}

func (t *tree) pathOf(n *node) (pfs.Path, bool) {
	var elements []string
	size := 0
	for ; n != t.root; n = n.name.parent {
		if n.name.parent == nil {
			return "", false
		}
		elements = append(elements, n.name.base)
		size += 1 + len(n.name.base)
	}
	if len(elements) == 0 {
		return pfs.Root, true
	}
	b := make([]byte, 0, size)
	for _, e := range slices.Backward(elements) {
		b = append(append(b, '/'), e...)
	}
	return pfs.Path(b), true
}

// enter returns the node of the file that was found as base in dir, and counts a reference of the
// kernel to it.
func (t *tree) enter(dir *node, base string, info pfs.Info) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.child(dir, base)
	if n != nil && !n.is(info) {
		t.noteUnname(dir, base)
		n = nil
	}
	if n == nil && info.Links > 1 && info.ID != 0 && !info.IsDir() {
		if n = t.linked[info.ID]; n != nil {
			if !n.is(info) {
				n = nil
			} else {
				t.addName(n, link{dir, base})
				t.journal.note(recName, []uint64{n.num, dir.num}, base)
			}
		}
	}
	isNew := n == nil
	if isNew {
		t.last++
		n = &node{num: t.last}
		t.nodes.set(n)
		t.addName(n, link{dir, strings.Clone(base)}) // not a part of a whole listing
		var at pfs.Path
		if info.ID == 0 {
			at, _ = t.pathOf(n)
		}
		n.identify(at, info)
	}
	n.refs++
	if d := n.asDir(); d != nil && dir.asDir().protection == Immutable {
		d.protection = Immutable
	}
	if isNew {
		t.journal.noteNode(n)
	} else {
		t.journal.note(recRef, []uint64{n.num})
	}
	t.seen(n, info)
	return n
}

// seen records the result of a Stat of n.
func (t *tree) seen(n *node, info pfs.Info) {
	n.see(info)
	if t.learns && n.protection() != Unprotected {
		n.learn(info)
	}
	if info.Links > 1 && n.hasID() && !info.IsDir() && n.name.parent != nil {
		t.link(n)
	}
}

// link notes that n may have several names.
func (t *tree) link(n *node) {
	if t.linked[n.ino] != n {
		t.linked[n.ino] = n
		t.journal.note(recLinked, []uint64{n.num})
	}
}

// child returns the node that is base in dir, nil if there is none.
func (t *tree) child(dir *node, base string) *node {
	if n := t.names.get(dir, base); n != nil {
		return n
	}
	return t.more[link{dir, base}]
}

// addName gives n one more name. Another node with this name loses it.
func (t *tree) addName(n *node, l link) {
	if t.child(l.parent, l.base) != nil {
		t.takeName(l)
	}
	l.parent.asDir().children++
	if n.name.parent == nil {
		n.name = l
		t.names.add(n)
	} else {
		n.rare().more = append(n.rare().more, l)
		t.more[l] = n
	}
}

// takeName takes a name from the node that has it.
func (t *tree) takeName(l link) {
	n := t.child(l.parent, l.base)
	l.parent.asDir().children--
	if n.name != l {
		delete(t.more, l)
		n.extra.more = slices.DeleteFunc(n.extra.more, func(m link) bool { return m == l })
		return
	}
	t.names.remove(n)
	n.name = link{}
	if e := n.extra; e != nil && len(e.more) > 0 {
		n.name, e.more = e.more[0], e.more[1:]
		delete(t.more, n.name)
		t.names.add(n)
	}
}

// unname removes the name base in dir from the tree.
func (t *tree) unname(dir *node, base string) {
	n := t.child(dir, base)
	if n == nil {
		return
	}
	t.takeName(link{dir, base})
	n.tidy()
	t.drop(n)
	t.drop(dir)
}

// remove is unname after a removal.
func (t *tree) remove(dir *node, base string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteUnname(dir, base)
}

// noteUnname is unname with a record in the journal.
func (t *tree) noteUnname(dir *node, base string) {
	if t.child(dir, base) != nil {
		t.journal.note(recUnname, []uint64{dir.num}, base)
		t.unname(dir, base)
	}
}

// detach takes all names from n, so that a lookup finds another node.
func (t *tree) detach(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.journal.note(recDetach, []uint64{n.num})
	for n.name.parent != nil {
		t.unname(n.name.parent, n.name.base)
	}
	if t.linked[n.ino] == n {
		delete(t.linked, n.ino)
	}
}

// rename gives the file that is base in dir the name newBase in newDir.
func (t *tree) rename(dir *node, base string, newDir *node, newBase string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.journal.note(recRename, []uint64{dir.num, newDir.num}, base, newBase)
	n := t.child(dir, base)
	t.unname(newDir, newBase)
	if n == nil {
		return
	}
	n.refs++ // so that it survives without a name
	t.unname(dir, base)
	n.refs--
	t.addName(n, link{newDir, strings.Clone(newBase)})
}

// forget takes back count references of the kernel.
func (t *tree) forget(num, count uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes.get(num)
	if n == nil {
		return
	}
	t.journal.note(recForget, []uint64{num, count})
	n.refs -= uint32(min(uint64(n.refs), count))
	t.drop(n)
}

// drop removes n from the tree if it is not in use.
func (t *tree) drop(n *node) {
	if n == t.root || n.refs > 0 || len(n.opens()) > 0 || n.asDir() != nil && n.asDir().children > 0 {
		return
	}
	t.nodes.remove(n.num)
	if t.linked[n.ino] == n {
		delete(t.linked, n.ino)
	}
	for n.name.parent != nil {
		parent := n.name.parent
		t.takeName(n.name)
		t.drop(parent)
	}
}

func (n *node) addOpen(o *openFile) { n.rare().open = append(n.rare().open, o) }

func (t *tree) released(o *openFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := o.node.rare()
	e.open = slices.DeleteFunc(e.open, func(other *openFile) bool { return other == o })
	o.node.tidy()
	t.drop(o.node)
}

// setVersion notes the version of the pages that the kernel may hold.
func (t *tree) setVersion(n *node, version uint64) {
	if n.version != version {
		n.version = version
		t.journal.note(recVersion, []uint64{n.num, version})
	}
}

// wrote counts a change of n's content.
func (t *tree) wrote(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.writes++
	n.known = nil
	t.setVersion(n, 0)
}

// anyOpen returns an open file of n that fits, or nil.
// allOpen returns the open files of n.
func (t *tree) allOpen(n *node) []*openFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(n.opens())
}

func (t *tree) anyOpen(n *node, fits func(o *openFile) bool) *openFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range n.opens() {
		if fits(o) {
			return o
		}
	}
	return nil
}
