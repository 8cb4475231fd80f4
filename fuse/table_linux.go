package fuse

import (
	"hash/maphash"
	"iter"
)

// nodeTable holds nodes by number. Numbers are given in order, so pages of them take less memory than a
// map.
type nodeTable map[uint64]*nodePage

const pageNodes = 127 // a page takes 1 KiB

type nodePage struct {
	nodes [pageNodes]*node
	used  int
}

func (t nodeTable) get(num uint64) *node {
	if p := t[num/pageNodes]; p != nil {
		return p.nodes[num%pageNodes]
	}
	return nil
}

func (t nodeTable) set(n *node) {
	p := t[n.num/pageNodes]
	if p == nil {
		p = &nodePage{}
		t[n.num/pageNodes] = p
	}
	at := &p.nodes[n.num%pageNodes]
	if *at == nil {
		p.used++
	}
	*at = n
}

func (t nodeTable) remove(num uint64) {
	if t.get(num) == nil {
		return
	}
	p := t[num/pageNodes]
	p.nodes[num%pageNodes] = nil
	if p.used--; p.used == 0 {
		delete(t, num/pageNodes)
	}
}

// all returns the nodes, in no order.
func (t nodeTable) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, p := range t {
			for _, n := range p.nodes[:] { // which yield may change
				if n != nil && !yield(n) {
					return
				}
			}
		}
	}
}

// nameTable finds nodes by their first names. Nodes have the names, so it takes less memory than a map for each
// directory. It is a hash table with linear probing.
type nameTable struct {
	seed  maphash.Seed
	slots []*node // a power of two of them, a quarter of them nil at least
	used  int
}

const leastSlots = 64

func newNameTable() nameTable {
	return nameTable{seed: maphash.MakeSeed(), slots: make([]*node, leastSlots)}
}

// home returns the slot at which the search for a name begins.
func (t *nameTable) home(dir *node, base string) int {
	h := maphash.String(t.seed, base) ^ dir.num*0x9e3779b97f4a7c15
	return int((h ^ h>>32) & uint64(len(t.slots)-1))
}

func (t *nameTable) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

// find returns the slot of a name, or the free one for it.
func (t *nameTable) find(dir *node, base string) int {
	i := t.home(dir, base)
	for n := t.slots[i]; n != nil && (n.name.parent != dir || n.name.base != base); n = t.slots[i] {
		i = t.next(i)
	}
	return i
}

func (t *nameTable) get(dir *node, base string) *node { return t.slots[t.find(dir, base)] }

// add adds n, whose name is not in the table.
func (t *nameTable) add(n *node) {
	if t.used >= len(t.slots)/4*3 {
		t.resize(2 * len(t.slots))
	}
	t.slots[t.find(n.name.parent, n.name.base)] = n
	t.used++
}

// remove removes n, which is in the table.
func (t *nameTable) remove(n *node) {
	hole := t.find(n.name.parent, n.name.base)
	for i := t.next(hole); t.slots[i] != nil; i = t.next(i) {
		// An entry whose home is at or before the hole moves into the hole. Otherwise a search would stop there.
		name := t.slots[i].name
		if home := t.home(name.parent, name.base); (i-home)&(len(t.slots)-1) >= (i-hole)&(len(t.slots)-1) {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = nil
	if t.used--; len(t.slots) > leastSlots && t.used < len(t.slots)/8 {
		t.resize(len(t.slots) / 2)
	}
}

func (t *nameTable) resize(n int) {
	old := t.slots
	t.slots = make([]*node, n)
	for _, n := range old {
		if n != nil {
			t.slots[t.find(n.name.parent, n.name.base)] = n
		}
	}
}
