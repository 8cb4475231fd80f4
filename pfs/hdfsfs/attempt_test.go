package hdfsfs

import (
	"bytes"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestBlocksReportedLate writes files of several blocks to a cluster whose NameNode hears of
// blocks late: it refuses the next block, and the end of a file, until it has heard of what
// was written before.
func TestBlocksReportedLate(t *testing.T) {
	c := testbed.HDFSPair(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize, o.Timeout = 64<<10, 256<<10, 10*time.Second
	f := open(t, o)
	data := pfstest.Pattern(7, 6*64<<10+12_345)
	pfstest.WriteFile(t, f, "/f", data)
	if got, err := readAll(t.Context(), f, "/f", small); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}
