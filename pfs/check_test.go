package pfs_test

import (
	"math"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestCheckRange(t *testing.T) {
	for _, tt := range []struct {
		off int64
		n   int
		ok  bool
	}{
		{0, 0, true}, {0, 7, true}, {math.MaxInt64 - 7, 7, true}, {math.MaxInt64, 0, true},
		{-1, 0, false}, {math.MinInt64, 7, false}, {math.MaxInt64 - 6, 7, false},
	} {
		if err := pfs.CheckRange("test", "/f", tt.off, tt.n); (err == nil) != tt.ok || err != nil && pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("%d bytes from %d on: %v", tt.n, tt.off, err)
		}
	}
}

func TestMax(t *testing.T) {
	for limit, want := range map[int]int{-1: pfs.MaxPage, 0: pfs.MaxPage, 1: 1, pfs.MaxPage: pfs.MaxPage, pfs.MaxPage + 1: pfs.MaxPage} {
		if got := (pfs.ListOptions{Limit: limit}).Max(); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
}

func TestSetQuotaRefusesLess(t *testing.T) {
	for _, fsys := range []pfs.FileSystem{memfs.New(memfs.Options{}), pfs.NewMux()} {
		pfstest.WantKind(t, pfs.SetQuota(t.Context(), fsys, pfs.Root, -1, 0), pfs.Invalid)
		pfstest.WantKind(t, pfs.SetQuota(t.Context(), fsys, pfs.Root, 0, -1), pfs.Invalid)
	}
}
