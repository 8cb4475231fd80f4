package main

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestAboveStores(t *testing.T) {
	for p, want := range map[pfs.Path]bool{
		"/pfs": true, "/pfs/dc": true, "/pfs/mnt": true, "/pfs/dc/mnt": true,
		"/pfs/public": false, "/pfs/dc/home": false, "/pfs/dc/public": false, "/pfs/dc/mnt/images": false, "/pfs/dc/home/mnt": false, "/pfs/public/mnt": false,
	} {
		if got := aboveStores(p); got != want {
			t.Errorf("aboveStores(%s) = %v, want %v", p, got, want)
		}
	}
}
