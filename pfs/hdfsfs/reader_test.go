package hdfsfs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestReadAtRandom jumps forwards and backwards across many blocks, while replicas
// are damaged.
func TestReadAtRandom(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 64 << 10
	o.Logger, _ = logs()
	f := open(t, o)
	data := pfstest.Pattern(9, 20*64<<10+99)
	pfstest.WriteFile(t, f, "/f", data)
	for _, off := range []int64{100, 70_000, 300_000, 301_000, 1_000_000} {
		c.Flip(t, f.at("/f"), off, "dn1", "dn3")
	}
	h, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer h.Close()
	r := rand.New(rand.NewPCG(1, 2))
	at := 0
	for range 100 {
		if r.IntN(3) == 0 {
			at = r.IntN(len(data))
		} else {
			at = min(len(data)-1, at+r.IntN(70_000)) // a short way forward
		}
		p := make([]byte, min(len(data)-at, 1+r.IntN(100_000)))
		must(t, pfs.ReadFull(t.Context(), h, p, int64(at)))
		if !bytes.Equal(p, data[at:at+len(p)]) {
			t.Fatalf("wrong bytes at %d", at)
		}
		at += len(p)
		at = min(at, len(data)-1)
	}
}
