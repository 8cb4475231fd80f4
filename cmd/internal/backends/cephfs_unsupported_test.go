//go:build !ceph

package backends

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestCephFSWithoutTag(t *testing.T) {
	_, err := Open(t.Context(), Spec{URL: "cephfs://mon1/fs"}, Caller{})
	if pfs.KindOf(err) != pfs.Unsupported || !strings.Contains(err.Error(), "-tags ceph") {
		t.Errorf("%v, want Unsupported and how to get a program that has it", err)
	}
}
