package hdfsfs

import (
	"testing"

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
