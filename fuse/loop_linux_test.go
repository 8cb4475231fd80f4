package fuse

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// BenchmarkRequests measures what a request costs.
func BenchmarkRequests(b *testing.B) {
	store := memfs.New(memfs.Options{})
	for i := range 100 {
		pfstest.WriteFile(b, store, pfs.Path("/"+strconv.Itoa(i)), make([]byte, 4096))
	}
	pfstest.WriteFile(b, store, "/large", make([]byte, 64<<20))
	dir := mount(b, store, Options{Timeout: time.Nanosecond})
	b.Run("stat", func(b *testing.B) {
		for i := range b.N {
			if _, err := os.Stat(dir + "/" + strconv.Itoa(i%100)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("small", func(b *testing.B) {
		for i := range b.N {
			if _, err := os.ReadFile(dir + "/" + strconv.Itoa(i%100)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("large", func(b *testing.B) {
		b.SetBytes(64 << 20)
		for range b.N {
			if _, err := os.ReadFile(dir + "/large"); err != nil {
				b.Fatal(err)
			}
			now := time.Now()
			os.Chtimes(dir+"/large", now, now)
		}
	})
}
