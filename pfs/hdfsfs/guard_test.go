package hdfsfs

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestPanicInBatch checks that a panic fails only its file: here every file, because the store is
// not usable.
func TestPanicInBatch(t *testing.T) {
	entries := []pfs.BatchEntry{{Path: "/a"}, {Path: "/b"}}
	for i, err := range new(FS).WriteBatch(t.Context(), entries) {
		pfstest.WantKind(t, err, pfs.Other)
		if e := err.(*pfs.Error); e.Path != entries[i].Path {
			t.Errorf("the error of %s is of %s", entries[i].Path, e.Path)
		}
	}
}
