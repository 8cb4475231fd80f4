package convert

import "io"

// picklePlan is what is known of an input before its values are read.
type picklePlan struct {
	needed map[int64]bool // entries of the memo that are asked for; nil if not known
	lists  []bool         // for each pickle: it ends with items put into a list
}

// planFrom is the size from which on an input is read twice. Smaller ones fit into
// memory as they are.
const planFrom = 1 << 20

// The largest plans.
const (
	maxNeeded  = 1 << 20
	maxPickles = 1 << 20
)

// planPickles goes over the events of an input with random access. Python puts every
// value into the memo; without knowing which of them are asked for, all would have to
// be kept. And only the end of a pickle tells whether the list that it begins with is
// all of it, so that its items can be given away as they come.
//
// What is damaged is met again when the values are read: up to there the plan holds.
// Inputs below the size from do without.
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

// need notes that an entry is asked for. Beyond maxNeeded all count as such.
func (p *picklePlan) need(n int64) {
	if p.needed == nil {
		return
	}
	if p.needed[n] = true; len(p.needed) > maxNeeded {
		p.needed = nil
	}
}

// needs reports whether an entry of the memo may be asked for.
func (p *picklePlan) needs(n int64) bool { return p.needed == nil || p.needed[n] }

// streams reports whether all of pickle i is one list.
func (p *picklePlan) streams(i int) bool { return i < len(p.lists) && p.lists[i] }
