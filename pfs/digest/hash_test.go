package digest

import (
	"bytes"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestHashOfUnknownSize holds that the digest does not depend on when the size is known, or on how the bytes come.
func TestHashOfUnknownSize(t *testing.T) {
	for _, size := range []int{0, 1, pfs.ChunkSize - 1, pfs.ChunkSize, 2*pfs.ChunkSize + 7} {
		p := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for _, known := range []int64{Unknown, int64(size)} {
			h, err := NewHash(XXH3, known)
			if err != nil {
				t.Fatal(err)
			}
			for rest := p; len(rest) > 0; {
				n := min(len(rest), 1<<20+1)
				_, _ = h.Write(rest[:n])
				rest = rest[n:]
			}
			if got, want := h.Sum(), Bytes(p); got != want {
				t.Errorf("%d bytes, stated as %d: %s, want %s", size, known, got, want)
			}
		}
	}
	if _, err := NewHash("md5", Unknown); pfs.KindOf(err) != pfs.Unsupported {
		t.Errorf("an unknown algorithm: %v", err)
	}
}
