package sorter

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestSorter(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 95, 1000} {
		s := New(largestFirst)
		s.most, s.width = 10, 3
		var want []pfs.Info
		for i := range n {
			e := pfs.Info{Name: fmt.Sprintf("n%03d", i), Size: int64(rand.IntN(50))}
			want = append(want, e)
			if err := s.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, largestFirst)
		var got []pfs.Info
		if err := s.Each(func(e pfs.Info) error {
			got = append(got, e)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d entries: got %v, want %v", n, got, want)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestSorterStopsWithTheCaller(t *testing.T) {
	s := New(largestFirst)
	s.most = 2
	defer s.Close()
	for i := range 9 {
		if err := s.Add(pfs.Info{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	stop, calls := errors.New("stop"), 0
	if err := s.Each(func(pfs.Info) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("each = %v after %d calls, want %v after 1", err, calls, stop)
	}
}

func largestFirst(a, b pfs.Info) int {
	return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Name, b.Name))
}
