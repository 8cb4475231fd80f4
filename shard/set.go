package shard

import (
	"cmp"
	"maps"
	"slices"
)

// CheckSet checks files that a pattern found, by their names alone: names with -of- must form
// complete sets, one for each stem. The error is a *SetError.
//
// With OfAny, a set in the design of PaddlePaddle that lacks only its last file looks complete;
// state the meaning or use CompareSet if that matters. Names without -of- promise no total, so none
// of them can be missing.
func CheckSet(names []string, of Of) error {
	e := &SetError{}
	stems := map[string][]numbered{}
	var others []string
	names = e.distinct(names)
	for _, name := range names {
		if n, ok := parseName(name); ok {
			stems[n.stem] = append(stems[n.stem], n)
		} else {
			others = append(others, name)
		}
	}
	for _, stem := range slices.Sorted(maps.Keys(stems)) {
		e.checkStem(stems[stem], of)
	}
	for _, name := range others {
		stem, ok := plainStem(name)
		if whole, piece := wholeOf(name); piece {
			_, ok = slices.BinarySearch(names, whole)
		} else {
			ok = ok && stems[stem] != nil
		}
		if ok {
			e.Stale = append(e.Stale, name)
		}
	}
	return e.orNil()
}

// CompareSet compares the files found with the names in a manifest. The error is a *SetError.
func CompareSet(names, manifest []string) error {
	e := &SetError{}
	stated := map[string]bool{}
	for _, name := range manifest {
		stated[name] = true
	}
	found := map[string]bool{}
	for _, name := range e.distinct(names) {
		found[name] = true
		if !stated[name] {
			e.Stale = append(e.Stale, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		if !found[name] {
			e.miss(name)
		}
	}
	return e.orNil()
}

// distinct returns names sorted without duplicates, and records the duplicates.
func (e *SetError) distinct(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			e.Duplicate = append(e.Duplicate, names[i])
		}
	}
	return slices.Compact(names)
}

func (e *SetError) miss(name string) {
	e.Absent++
	if len(e.Missing) < maxNamed {
		e.Missing = append(e.Missing, name)
	}
}

// checkStem checks the files of one stem: its largest set must be complete, and there must be no
// other.
func (e *SetError) checkStem(all []numbered, of Of) {
	main := mainSet(all)
	byIndex := map[int64]numbered{}
	var others []numbered
	for _, n := range all {
		if _, taken := byIndex[n.index]; n.set != main || taken {
			others = append(others, n)
			continue
		}
		byIndex[n.index] = n
	}
	last := lastIndex(main.of, byIndex, of)
	for _, index := range slices.Sorted(maps.Keys(byIndex)) {
		if index > last {
			e.Stale = append(e.Stale, byIndex[index].name)
			delete(byIndex, index)
		}
	}
	for _, n := range others {
		if _, taken := byIndex[n.index]; taken && n.set.of == main.of {
			e.Duplicate = append(e.Duplicate, n.name)
		} else {
			e.Stale = append(e.Stale, n.name)
		}
	}
	e.missOf(all, main, byIndex, last)
}

// mainSet returns the set with the most files; of equal ones the set with the larger total, which
// is less likely to be complete by accident.
func mainSet(all []numbered) setKey {
	files := map[setKey]int{}
	for _, n := range all {
		files[n.set]++
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(files)), func(a, b setKey) int {
		return cmp.Or(cmp.Compare(files[a], files[b]), cmp.Compare(a.of, b.of), cmp.Compare(b.suffix, a.suffix))
	})
}

// lastIndex returns the number of the last file of a set.
func lastIndex(stated int64, found map[int64]numbered, of Of) int64 {
	_, there := found[stated]
	if of == OfLast || of == OfAny && there {
		return stated
	}
	return stated - 1
}

// missOf counts the missing files of the set, and derives the first of their names from an existing
// one.
func (e *SetError) missOf(all []numbered, main setKey, found map[int64]numbered, last int64) {
	absent := last + 1 - int64(len(found))
	like := all[slices.IndexFunc(all, func(n numbered) bool { return n.set == main })]
	for i := int64(0); absent > 0 && i <= last && len(e.Missing) < maxNamed; i++ {
		if _, there := found[i]; !there {
			e.Missing = append(e.Missing, like.sibling(i))
		}
	}
	e.Absent += max(0, absent)
}
