package hdfsfs

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestStageRemoved removes the directory of all uploads during an upload. The upload ends with
// Conflict, and a new one can begin.
func TestStageRemoved(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.PartSize = 4 * small
	f := open(t, o)
	data := pfstest.Pattern(1, 7*small)
	for _, n := range []int{100, small, 3*small + 5, 4 * small, len(data)} {
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
		must(t, err)
		_, err = w.WriteAt(t.Context(), data[:n], 0)
		must(t, err)
		must(t, f.removeAll(t.Context(), f.stage.top()))
		_, err = w.WriteAt(t.Context(), data[n:], int64(n))
		if err == nil {
			_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
		}
		t.Logf("after %d bytes: %v", n, err)
		pfstest.WantKind(t, err, pfs.Conflict)
		must(t, w.Close(t.Context()))
	}
	pfstest.WriteFile(t, f, "/f", data)
}
