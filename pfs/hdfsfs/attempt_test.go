package hdfsfs

import (
	"bytes"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestFold keeps few sums of a file that is written whole, and knows its checksum.
func TestFold(t *testing.T) {
	const block = 8 * checksumChunk
	for _, size := range []int{0, 1, block - 1, block, block + 1, 5*block + 100, 100 * block} {
		data := pfstest.Pattern(1, size)
		all, few := &attempt{block: block}, &attempt{block: block}
		for off := 0; off < size; off += 3000 {
			p := data[off:min(size, off+3000)]
			all.sum(p)
			few.sum(p)
			if off >= 6000 {
				few.fold() // what was written before counts too
			}
		}
		if few.checksum() != all.checksum() {
			t.Errorf("%d bytes: the checksum is another one", size)
		}
		if size > 2*block && len(few.sums) >= block/checksumChunk {
			t.Errorf("%d bytes: %d sums are kept", size, len(few.sums))
		}
	}
}

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
