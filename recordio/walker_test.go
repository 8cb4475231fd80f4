package recordio

import "testing"

// TestWalkerTakesWhatItNeeds walks empty records whose header states more, as many or fewer, in
// pieces and at once.
func TestWalkerTakesWhatItNeeds(t *testing.T) {
	const records = 1 << 20
	payload := make([]byte, records*lengthSize)
	for _, said := range []uint32{0, 1, records - 1, records, 1<<32 - 1} {
		for _, here := range []int{0, len(payload)} {
			var w walker
			got := allocated(func() {
				w.reset(len(payload), said, here)
				for n := 0; n <= len(payload); n += len(payload) / 64 {
					w.walk(payload[:n])
				}
			})
			if err := w.exact(); err != nil || len(w.ends) != records {
				t.Errorf("%d said, %d bytes here: %d records, %v", said, here, len(w.ends), err)
			}
			if most := uint64(3 * lengthSize * records); got > most {
				t.Errorf("%d said, %d bytes here: %d bytes allocated, want at most %d", said, here, got, most)
			}
		}
	}
	var empty walker
	if empty.reset(3, 0, 3); cap(empty.ends) > 0 {
		t.Error("room for records in 3 bytes")
	}
}
