package transfer

import (
	"testing"
	"time"
)

// TestSameTime compares a time with the same time in stores of lower precision.
func TestSameTime(t *testing.T) {
	at := time.Unix(1e9, 123456789)
	for _, unit := range []time.Duration{time.Nanosecond, 100 * time.Nanosecond, time.Microsecond, time.Millisecond, time.Second} {
		kept := at.Truncate(unit)
		if !sameTime(at, kept) || !sameTime(kept, at) || newer(at, kept) {
			t.Errorf("a store that keeps %v has another time", unit)
		}
		for _, other := range []time.Time{kept.Add(unit), kept.Add(-unit)} {
			if sameTime(at, other) || sameTime(other, at) {
				t.Errorf("%v and %v are the same", at, other)
			}
		}
	}
	if !newer(at.Add(time.Millisecond), at.Truncate(time.Millisecond)) {
		t.Error("a millisecond later is not newer")
	}
	if KeptAs(at, at.Truncate(time.Millisecond)) {
		t.Error("a store keeps more than there was")
	}
}
