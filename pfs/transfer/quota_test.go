package transfer

import (
	"errors"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestNothingStagedWithoutRoom copies a file that has no room when it is published:
// nothing is kept of it, which would take the room of other files for days.
func TestNothingStagedWithoutRoom(t *testing.T) {
	source, target := memfs.New(memfs.Options{}), newFaulty(t)
	pfstest.WriteFile(t, source, "/f", pfstest.Pattern(1, pfs.ChunkSize+1))
	target.before = func(op string, name pfs.Path) error {
		if op == "commit" {
			return pfs.E("test.Commit", name, pfs.Quota, nil)
		}
		return nil
	}
	job, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = job.Copy(t.Context(), End{FS: source, Path: "/f"}, End{FS: target, Path: "/f"})
	if !errors.Is(err, pfs.Quota) {
		t.Errorf("got %v, want Quota", err)
	}
	if n, bytes, err := pfs.Sweep(t.Context(), target.FS, pfs.Root, 0); n != 0 || err != nil {
		t.Errorf("%d staged writes of %d bytes are left, %v", n, bytes, err)
	}
}
