package transfer

import "time"

// verdict is the decision about an item.
type verdict uint8

const (
	copyIt  verdict = iota
	skipIt          // with a Reason
	compare         // compare the digests first
	refuse          // a directory is in the way
)

// decide returns the decision about an item, from names, sizes and times.
func (o Options) decide(it *item) (verdict, Reason) {
	switch {
	case !it.exists:
		return copyIt, NoReason
	case it.old.IsDir():
		return refuse, NoReason
	case o.Overwrite == NoReplace:
		return skipIt, Exists
	case o.Overwrite == Update && !newer(it.info.ModTime, it.old.ModTime):
		return skipIt, NotNewer
	case it.info.IsLink():
		if it.old.IsLink() && it.old.Target == it.info.Target {
			return skipIt, Equal
		}
		return copyIt, NoReason
	case !it.old.IsRegular() || it.info.Size != it.old.Size:
		return copyIt, NoReason
	case o.Quick && sameTime(it.info.ModTime, it.old.ModTime) || it.info.Size == 0:
		return skipIt, Equal
	}
	return compare, NoReason
}

// comparesDigests reports whether decide leaves files with equal sizes and times to their digests.
func (o Options) comparesDigests() bool { return o.Overwrite != NoReplace && !o.Quick }

// sameTime reports whether a and b are the same moment to the coarser precision of their
// stores.
func sameTime(a, b time.Time) bool { return KeptAs(a, b) || KeptAs(b, a) }

// KeptAs reports whether kept is t cut to the precision of a store, which is a power of ten of
// nanoseconds, up to a second. It infers the precision from kept.
func KeptAs(kept, t time.Time) bool {
	for unit := time.Nanosecond; unit <= time.Second && kept.Truncate(unit).Equal(kept); unit *= 10 {
		if t.Truncate(unit).Equal(kept) {
			return true
		}
	}
	return false
}

// newer reports whether a is later than b, to the coarser precision of their stores.
func newer(a, b time.Time) bool { return a.After(b) && !sameTime(a, b) }
