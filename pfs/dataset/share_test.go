package dataset

import (
	"errors"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
)

// TestMetered counts the records that are taken, and no more.
func TestMetered(t *testing.T) {
	failed := errors.New("lost")
	records := func(yield func(recordfile.Record, error) bool) {
		for _, data := range []string{"abc", "", "de", "fghi"} {
			if !yield(recordfile.Record{Data: []byte(data)}, nil) {
				return
			}
		}
		yield(recordfile.Record{}, failed)
	}
	m := &bytesMeter{}
	meter := func(int64, int) recordfile.Meter { return m }
	s := &Sharing{o: ShareOptions{Meter: meter}}
	var got []string
	for rec, err := range s.metered(records) {
		if got = append(got, string(rec.Data)); err != nil || len(got) == 3 {
			break
		}
	}
	if want := []string{"abc", "", "de"}; !slices.Equal(got, want) || m.done != 5 {
		t.Errorf("got %q and %d bytes, want %q and 5", got, m.done, want)
	}
	last := error(nil)
	for _, err := range s.metered(records) {
		last = err
	}
	if last != failed || m.done != 14 {
		t.Errorf("the whole: %v, %d bytes; want %v, 14", last, m.done, failed)
	}
}

type bytesMeter struct {
	recordfile.NoMeter
	done int64
}

func (m *bytesMeter) Add(n int64) { m.done += n }
