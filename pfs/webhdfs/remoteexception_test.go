package webhdfs

import (
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestKinds holds that every Kind has a class and a status, and that only a missing file is answered as one.
func TestKinds(t *testing.T) {
	for _, k := range pfs.Kinds() {
		e, ok := kinds[k]
		if !ok || e.class == "" || e.status < 400 {
			t.Errorf("%v is answered %+v", k, e)
		}
		if e.class == notFound && !slices.Contains([]pfs.Kind{pfs.NotExist, pfs.IsDir}, k) {
			t.Errorf("%v reads as a missing file", k)
		}
	}
	if len(kinds) != len(pfs.Kinds()) {
		t.Errorf("%d Kinds have an answer, there are %d", len(kinds), len(pfs.Kinds()))
	}
}
