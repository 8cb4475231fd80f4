package app

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestAboveStores(t *testing.T) {
	for p, want := range map[pfs.Path]bool{
		"/pfs": true, "/pfs/dc": true, "/pfs/mnt": true, "/pfs/dc/mnt": true,
		"/pfs/public": false, "/pfs/dc/home": false, "/pfs/dc/public": false, "/pfs/dc/mnt/images": false, "/pfs/dc/home/mnt": false, "/pfs/public/mnt": false,
	} {
		if got := AboveStores(p); got != want {
			t.Errorf("aboveStores(%s) = %v, want %v", p, got, want)
		}
	}
}

func TestIsRoot(t *testing.T) {
	roots := []pfs.Path{"/", "/pfs", "/pfs/dc", "/pfs/public", "/pfs/dc/home", "/pfs/dc/public", "/pfs/dc/home/u", "/pfs/dc/mnt/x"}
	others := []pfs.Path{"/pfs/public/x", "/pfs/public/home/u", "/pfs/dc/home/u/x", "/pfs/dc/public/x", "/pfs/dc/mnt/x/y"}
	for _, p := range roots {
		if !IsRoot(p) {
			t.Errorf("isRoot(%s) = false", p)
		}
	}
	for _, p := range others {
		if IsRoot(p) {
			t.Errorf("isRoot(%s) = true", p)
		}
	}
}
