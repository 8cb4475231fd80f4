package fuse

import (
	"hash/fnv"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// tree holds the nodes that the kernel knows. Its lock guards all fields of all nodes, and is never
// held during a call of the store.
type tree struct {
	mu     sync.Mutex
	root   *node
	nodes  map[uint64]*node // by number
	linked map[uint64]*node // files with several names, by Info.ID
	last   uint64           // number of the newest node; numbers are not used twice
}

// node is a file or directory that the kernel knows.
type node struct {
	num    uint64
	ino    uint64
	hasID  bool        // ino is Info.ID
	kind   fs.FileMode // its type
	mode   fs.FileMode // as last seen
	gid    uint32      // as last seen
	mtime  time.Time   // of a directory, as last seen
	target string      // of a link

	refs     uint64 // lookups that the kernel has not forgotten
	name     link   // the zero link if the node has no name any more
	more     []link // further names
	children map[string]*node

	open    []*openFile
	version string           // of the pages that the kernel may hold; empty if unknown
	writes  uint64           // through this mount
	can     pfs.Capabilities // of a directory, 0 before the first request
}

// link is one name of a node.
type link struct {
	parent *node
	base   string
}

func newTree(info pfs.Info) *tree {
	root := &node{num: 1, refs: 1}
	t := &tree{root: root, nodes: map[uint64]*node{1: root}, linked: map[uint64]*node{}, last: 1}
	root.identify(pfs.Root, info)
	root.see(info)
	return t
}

// identify records what distinguishes the file of n, found at name, from others.
func (n *node) identify(name pfs.Path, info pfs.Info) {
	n.ino, n.hasID, n.kind, n.target = inode(name, info), info.ID != 0, info.Mode.Type(), info.Target
}

// inode returns the inode number of the file at name.
func inode(name pfs.Path, info pfs.Info) uint64 {
	if info.ID != 0 {
		return info.ID
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(2, h.Sum64())
}

// is reports whether info describes the file of n.
func (n *node) is(info pfs.Info) bool {
	return n.kind == info.Mode.Type() && (n.target == info.Target || info.Target == "") && (!n.hasID || info.ID == 0 || n.ino == info.ID)
}

// see notes attributes that the tree needs.
func (n *node) see(info pfs.Info) {
	n.mode, n.gid = info.Mode, info.GID
	if info.IsDir() {
		n.mtime = info.ModTime
	}
}

func (t *tree) get(num uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[num]
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
	n := dir.children[base]
	if n != nil && !n.is(info) {
		t.unname(dir, base)
		n = nil
	}
	if n == nil && info.Links > 1 && info.ID != 0 && !info.IsDir() {
		if n = t.linked[info.ID]; n != nil {
			if !n.is(info) {
				n = nil
			} else {
				n.addName(link{dir, base})
			}
		}
	}
	if n == nil {
		t.last++
		n = &node{num: t.last, name: link{dir, base}}
		t.nodes[n.num] = n
		at, _ := t.pathOf(n)
		n.identify(at, info)
		dir.setChild(base, n)
	}
	n.refs++
	t.seen(n, info)
	return n
}

// seen records the result of a Stat of n.
func (t *tree) seen(n *node, info pfs.Info) {
	n.see(info)
	if info.Links > 1 && n.hasID && !info.IsDir() && n.name.parent != nil {
		t.linked[n.ino] = n
	}
}

func (n *node) addName(l link) {
	if n.name.parent == nil {
		n.name = l
	} else {
		n.more = append(n.more, l)
	}
	l.parent.setChild(l.base, n)
}

func (n *node) setChild(base string, child *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[base] = child
}

// unname removes the name base in dir from the tree.
func (t *tree) unname(dir *node, base string) {
	n := dir.children[base]
	if n == nil {
		return
	}
	delete(dir.children, base)
	gone := link{dir, base}
	if n.name == gone {
		n.name = link{}
		if last := len(n.more) - 1; last >= 0 {
			n.name, n.more = n.more[last], n.more[:last]
		}
	} else {
		n.more = slices.DeleteFunc(n.more, func(l link) bool { return l == gone })
	}
	t.drop(n)
	t.drop(dir)
}

// remove is unname after a removal.
func (t *tree) remove(dir *node, base string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unname(dir, base)
}

// detach takes all names from n, so that a lookup finds another node.
func (t *tree) detach(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	n := dir.children[base]
	t.unname(newDir, newBase)
	if n == nil {
		return
	}
	n.refs++ // so that it survives without a name
	t.unname(dir, base)
	n.refs--
	n.addName(link{newDir, newBase})
}

// forget takes back count references of the kernel.
func (t *tree) forget(num, count uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[num]
	if n == nil {
		return
	}
	n.refs -= min(n.refs, count)
	t.drop(n)
}

// drop removes n from the tree if it is not in use.
func (t *tree) drop(n *node) {
	if n == t.root || n.refs > 0 || len(n.children) > 0 || len(n.open) > 0 {
		return
	}
	delete(t.nodes, n.num)
	if t.linked[n.ino] == n {
		delete(t.linked, n.ino)
	}
	names := append(n.more, n.name)
	n.name, n.more = link{}, nil
	for _, l := range names {
		if l.parent != nil && l.parent.children[l.base] == n {
			delete(l.parent.children, l.base)
			t.drop(l.parent)
		}
	}
}

// opened adds o to the open files of its node.
func (t *tree) opened(o *openFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.node.open = append(o.node.open, o)
}

func (t *tree) released(o *openFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.node.open = slices.DeleteFunc(o.node.open, func(other *openFile) bool { return other == o })
	t.drop(o.node)
}

// wrote counts a change of n's content.
func (t *tree) wrote(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.writes++
	n.version = ""
}

// anyOpen returns an open file of n that fits, or nil.
func (t *tree) anyOpen(n *node, fits func(o *openFile) bool) *openFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range n.open {
		if fits(o) {
			return o
		}
	}
	return nil
}
