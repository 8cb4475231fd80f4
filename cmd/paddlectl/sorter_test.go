package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestSorter(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 95, 1000} {
		s := newSorter(bySize)
		s.most, s.width = 10, 3
		var want []pfs.Info
		for i := range n {
			e := pfs.Info{Name: fmt.Sprintf("n%03d", i), Size: int64(rand.IntN(50))}
			want = append(want, e)
			if err := s.add(e); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, bySize)
		var got []pfs.Info
		if err := s.each(func(e pfs.Info) error {
			got = append(got, e)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d entries: got %v, want %v", n, got, want)
		}
		if err := s.close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if s.dir != "" {
			if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("temporary files are left: %v", err)
			}
		}
	}
}

func TestSorterStopsWithTheCaller(t *testing.T) {
	s := newSorter(byName)
	s.most = 2
	defer s.close()
	for i := range 9 {
		if err := s.add(pfs.Info{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	stop, calls := errors.New("stop"), 0
	if err := s.each(func(pfs.Info) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("each = %v after %d calls, want %v after 1", err, calls, stop)
	}
}
