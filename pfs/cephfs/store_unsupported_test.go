//go:build !ceph

package cephfs

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestOpenSaysHowToGetIt(t *testing.T) {
	_, err := Open(t.Context(), Options{Monitors: []string{"mon"}})
	pfstest.WantKind(t, err, pfs.Unsupported)
}
