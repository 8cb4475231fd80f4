package dataset

import (
	"errors"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
)

// TestMetered counts what is taken of the records, and no more.
func TestMetered(t *testing.T) {
	failed := errors.New("lost")
	records := func(yield func(dataRecord, error) bool) {
		for _, data := range []string{"abc", "", "de", "fghi"} {
			if !yield(dataRecord{data: []byte(data)}, nil) {
				return
			}
		}
		yield(dataRecord{}, failed)
	}
	m := &app.Meter{}
	var got []string
	for rec, err := range metered(records, m) {
		if got = append(got, string(rec.data)); err != nil || len(got) == 3 {
			break
		}
	}
	if want := []string{"abc", "", "de"}; !slices.Equal(got, want) || m.Done.Load() != 5 {
		t.Errorf("got %q and %d bytes, want %q and 5", got, m.Done.Load(), want)
	}
	last := error(nil)
	for _, err := range metered(records, m) {
		last = err
	}
	if last != failed || m.Done.Load() != 14 {
		t.Errorf("the whole: %v, %d bytes; want %v, 14", last, m.Done.Load(), failed)
	}
}
