package localfs

import "cmp"

// slot is a place on the disk whose changes a quota counts: a name in a directory, or, without a
// name, a file. Where the system has no inodes many places share one slot.
type slot struct {
	dev, ino uint64 // of the directory, or the file
	name     string
}

// compare orders slots, so that every operation locks several of them in the same order.
func (s slot) compare(t slot) int {
	return cmp.Or(cmp.Compare(s.dev, t.dev), cmp.Compare(s.ino, t.ino), cmp.Compare(s.name, t.name))
}

// free releases nothing.
func free() {}

// named is a name in an open directory, in trees that count it.
type named struct {
	place
	name string
}

// hold keeps every other operation of this FS from changing the files at these names, where a quota
// counts them. So the file that is looked at is the file that is replaced or removed. Files may
// still be written in place.
func (f *FS) hold(names ...named) (release func(), err error) {
	var at []slot
	for _, n := range names {
		if len(n.trees) == 0 {
			continue
		}
		st, err := n.dir.stat(".", false)
		if err != nil {
			return nil, err
		}
		at = append(at, slot{st.dev, st.ino, n.name})
	}
	if len(at) == 0 {
		return free, nil
	}
	return f.quotas.slots.Lock(slot.compare, at...), nil
}

// holdFiles is hold for in-place writes to the files at these names. The caller holds the names.
func (f *FS) holdFiles(names ...named) (release func()) {
	var at []slot
	for _, n := range names {
		if len(n.trees) == 0 {
			continue
		}
		if st, err := n.dir.stat(n.name, false); err == nil && st.mode.IsRegular() {
			at = append(at, fileSlot(st))
		}
	}
	if len(at) == 0 {
		return free
	}
	return f.quotas.slots.Lock(slot.compare, at...)
}

// fileSlot returns the slot of the file that st describes.
func fileSlot(st stat) slot { return slot{dev: st.dev, ino: st.ino} }

// holding calls do while it holds the name, its file, and the file temp beside it that will replace
// it, "" for none.
func (f *FS) holding(n named, temp string, do func() error) error {
	release, err := f.hold(n)
	if err != nil {
		return err
	}
	defer release()
	if temp == "" {
		defer f.holdFiles(n)()
	} else {
		defer f.holdFiles(n, named{n.place, temp})()
	}
	return do()
}
