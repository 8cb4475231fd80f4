package cachefs

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// network is the store that the figures are for.
func network(fsys pfs.FileSystem) *slowStore {
	return &slowStore{FileSystem: fsys, Network: testbed.SlowNetwork()}
}

// readAll reads an open file in steps of 128 KiB, as a kernel does, and compares it with want.
func readAll(t testing.TB, f pfs.File, want []byte) {
	t.Helper()
	buf := make([]byte, 128<<10)
	for off := 0; off < len(want); off += len(buf) {
		n := min(len(buf), len(want)-off)
		if _, err := f.ReadAt(t.Context(), buf[:n], int64(off)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf[:n], want[off:off+n]) {
			t.Fatalf("wrong bytes at %d", off)
		}
	}
}

// BenchmarkLargeFile reads a file of 1 GiB for the first and the second time.
func BenchmarkLargeFile(b *testing.B) {
	m := memfs.New(memfs.Options{})
	data := pfstest.Pattern(1, 1<<30)
	pfstest.WriteFile(b, m, "/f", data)
	var plain, cold, warm time.Duration
	for range b.N {
		b.StopTimer()
		plain += parallel(b, network(m), data)
		c, err := New(network(m), Options{Dirs: []string{b.TempDir()}, Size: 2 << 30, Settle: -1})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, d := range []*time.Duration{&cold, &warm} {
			start := time.Now()
			f, err := c.Open(b.Context(), "/f")
			if err != nil {
				b.Fatal(err)
			}
			readAll(b, f, data)
			*d += time.Since(start)
			waitIdle(c)
			if l := f.(*File).Local(); l == nil {
				b.Error("the file is not whole")
			}
			f.Close()
		}
		b.Logf("%+v", c.Status())
		c.Close()
	}
	total := float64(len(data)) * float64(b.N) / 1e6
	b.ReportMetric(total/plain.Seconds(), "MB/s-store")
	b.ReportMetric(total/cold.Seconds(), "MB/s-cold")
	b.ReportMetric(total/warm.Seconds(), "MB/s-warm")
}

// parallel returns how long 32 readers of the store take for its file.
func parallel(b *testing.B, fsys pfs.FileSystem, data []byte) time.Duration {
	start := time.Now()
	f, err := fsys.Open(b.Context(), "/f")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var work sync.WaitGroup
	for k := range 32 {
		work.Go(func() {
			buf := make([]byte, pfs.ChunkSize)
			for off := k * len(buf); off < len(data); off += 32 * len(buf) {
				if err := pfs.ReadFull(b.Context(), f, buf, int64(off)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	work.Wait()
	return time.Since(start)
}

// BenchmarkSmallFiles reads 3,000 files of 100 KiB with four readers, each of which takes the next
// file.
func BenchmarkSmallFiles(b *testing.B) {
	const files, size = 3000, 100 << 10
	m := memfs.New(memfs.Options{})
	data := pfstest.Pattern(2, size)
	for i := range files {
		pfstest.WriteFile(b, m, pfs.Path(fmt.Sprintf("/f%05d", i)), data)
	}
	b.Run("service", func(b *testing.B) { smallFiles(b, slowService{network(m)}, data) })
	b.Run("store", func(b *testing.B) { smallFiles(b, network(m), data) })
}

func smallFiles(b *testing.B, fsys pfs.FileSystem, data []byte) {
	var cold, warm time.Duration
	var n int
	for range b.N {
		b.StopTimer()
		c, err := New(fsys, Options{Dirs: []string{b.TempDir()}, Size: 2 << 30, Settle: -1})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, d := range []*time.Duration{&cold, &warm} {
			start := time.Now()
			page, err := c.List(b.Context(), "/", pfs.ListOptions{})
			if err != nil || len(page.Entries) != 3000 {
				b.Fatal(len(page.Entries), err)
			}
			next := make(chan pfs.Info, len(page.Entries))
			for _, e := range page.Entries {
				next <- e
			}
			close(next)
			var work sync.WaitGroup
			for range 4 {
				work.Go(func() {
					for info := range next {
						f, err := c.OpenInfo(b.Context(), pfs.Root.Join(info.Name), info)
						if err != nil {
							b.Error(err)
							return
						}
						readAll(b, f, data)
						f.Close()
					}
				})
			}
			work.Wait()
			*d += time.Since(start)
			n = len(page.Entries)
		}
		b.Logf("%+v", c.Status())
		c.Close()
	}
	total := float64(n) * float64(len(data)) * float64(b.N) / 1e6
	b.ReportMetric(total/cold.Seconds(), "MB/s-cold")
	b.ReportMetric(total/warm.Seconds(), "MB/s-warm")
}
