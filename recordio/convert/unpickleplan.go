package convert

import "io"

// picklePlan is what a first pass finds out about an input.
type picklePlan struct {
	needed map[int64]bool // memo entries that are used; nil if unknown
	lists  []bool         // for each pickle: whether its last event appends items to a list
}

// planFrom is the size from which an input is read twice. Smaller ones fit into memory as they are.
const planFrom = 1 << 20

// The maximum sizes of a plan.
const (
	maxNeeded  = 1 << 20
	maxPickles = 1 << 20
)

// planPickles scans the events of an input with random access, for two reasons: Python puts every
// value into the memo, and without knowing which entries are used, all would have to be kept. And
// only the end of a pickle tells whether its first list is the whole pickle, so that items can be
// returned as they come.
//
// Damage is found again when the values are read; the plan covers the part before it. Inputs
// smaller than from need no plan.
func planPickles(in Input, limits Limits, from int64) *picklePlan {
	p := &picklePlan{}
	if in.ReaderAt == nil || in.Size < from {
		return p
	}
	p.needed = map[int64]bool{}
	scan := newPickleScanner(io.NewSectionReader(in.ReaderAt, 0, in.Size), limits.Record, true)
	var e pickleEvent
	for last := byte(0); scan.next(&e) == nil; last = e.code {
		switch e.code {
		case opGet, opBinGet, opLongBinGet:
			p.need(e.number)
		case opStop:
			if len(p.lists) < maxPickles {
				p.lists = append(p.lists, last == opAppend || last == opAppends)
			}
		}
	}
	return p
}

// need marks an entry as used. Beyond maxNeeded entries, all count as used.
func (p *picklePlan) need(n int64) {
	if p.needed == nil {
		return
	}
	if p.needed[n] = true; len(p.needed) > maxNeeded {
		p.needed = nil
	}
}

// needs reports whether a memo entry may be used.
func (p *picklePlan) needs(n int64) bool { return p.needed == nil || p.needed[n] }

// streams reports whether pickle i is one list.
func (p *picklePlan) streams(i int) bool { return i < len(p.lists) && p.lists[i] }
