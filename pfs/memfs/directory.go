package memfs

import (
	"slices"
	"sort"
)

// directory is the part of a node that only directories have.
//
// Entries are listed in the order of their seq, which is the order in which the names came. So
// the seq of the last entry of a page is a token that changes cannot invalidate. An entry whose
// node is replaced keeps its seq.
type directory struct {
	entries map[string]*entry
	order   []*entry // by seq; those with a nil node are removed
	removed int      // number of removed entries in order

	sum                tally // of the whole tree below
	maxBytes, maxFiles int64 // the quota; 0: none

	staged map[stageKey]*stage // uploads in progress
}

type entry struct {
	name string
	seq  uint64
	node *node
}

func newDirectory() *directory {
	return &directory{entries: map[string]*entry{}, staged: map[stageKey]*stage{}}
}

// put makes n the entry name.
func (d *directory) put(name string, n *node, seq uint64) {
	if e := d.entries[name]; e != nil {
		e.node = n
		return
	}
	e := &entry{name: name, seq: seq, node: n}
	d.entries[name] = e
	d.order = append(d.order, e)
}

// drop removes the entry name. It shrinks order once half of it is removed entries, so that the
// price of a removal does not grow.
func (d *directory) drop(name string) {
	d.entries[name].node = nil
	delete(d.entries, name)
	d.removed++
	if d.removed > len(d.order)/2 {
		d.order = slices.DeleteFunc(d.order, func(e *entry) bool { return e.node == nil })
		d.removed = 0
	}
}

// after returns the entries that come after seq, including removed ones.
func (d *directory) after(seq uint64) []*entry {
	return d.order[sort.Search(len(d.order), func(i int) bool { return d.order[i].seq > seq }):]
}
