package hdfsfs

import (
	"fmt"
	"io"
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sync/errgroup"
)

// large is the length of the file of the benchmarks, in blocks of the cluster.
const large = 512 << 20

// benchStore opens the cluster with its own block size.
func benchStore(b *testing.B) (*FS, *hdfs.Client) {
	c := testbed.HDFSAlone(b)
	o := options(c, c.Scratch(b))
	o.BlockSize = 0
	raw, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.NameNodes, User: c.Superuser})
	must(b, err)
	b.Cleanup(func() { raw.Close() })
	return open(b, o), raw
}

// writeLarge writes the file with n pieces at once.
func writeLarge(b *testing.B, f *FS, name pfs.Path, n int) {
	w, err := f.Create(b.Context(), name, pfs.CreateOptions{Size: large})
	must(b, err)
	defer w.Close()
	data := pfstest.Pattern(1, pfs.ChunkSize)
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(n)
	for start := int64(0); start < large; start += w.Unit() {
		g.Go(func() error {
			for off := start; off < min(large, start+w.Unit()); off += pfs.ChunkSize {
				if _, err := w.WriteAt(ctx, data, off); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, g.Wait())
	_, err = w.Commit(b.Context(), pfs.CommitOptions{Size: large})
	must(b, err)
}

func BenchmarkWrite(b *testing.B) {
	f, raw := benchStore(b)
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprintf("parts=%d", n), func(b *testing.B) {
			b.SetBytes(large)
			for b.Loop() {
				writeLarge(b, f, "/f", n)
			}
		})
	}
	b.Run("library", func(b *testing.B) {
		b.SetBytes(large)
		data := pfstest.Pattern(1, pfs.ChunkSize)
		for b.Loop() {
			must(b, raw.RemoveAll(f.at("/raw")))
			w, err := raw.Create(f.at("/raw"))
			must(b, err)
			for range large / pfs.ChunkSize {
				_, err := w.Write(data)
				must(b, err)
			}
			must(b, w.Close())
		}
	})
}

// BenchmarkRead compares verified reads with the library's own, which are not.
func BenchmarkRead(b *testing.B) {
	f, raw := benchStore(b)
	writeLarge(b, f, "/f", 2)
	buf := make([]byte, pfs.ChunkSize)
	b.Run("verified", func(b *testing.B) {
		b.SetBytes(large)
		for b.Loop() {
			h, err := f.Open(b.Context(), "/f")
			must(b, err)
			for off := int64(0); off < large; off += pfs.ChunkSize {
				must(b, pfs.ReadFull(b.Context(), h, buf, off))
			}
			must(b, h.Close())
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(large)
		for b.Loop() {
			r, err := raw.Open(f.at("/f"))
			must(b, err)
			for range large / pfs.ChunkSize {
				_, err := io.ReadFull(r, buf)
				must(b, err)
			}
			must(b, r.Close())
		}
	})
}

// BenchmarkSmallFiles writes batches of 1000 files of 16 KiB.
func BenchmarkSmallFiles(b *testing.B) {
	f, _ := benchStore(b)
	data := pfstest.Pattern(1, 16<<10)
	batch := make([]pfs.BatchEntry, 1000)
	for i := range batch {
		batch[i] = pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/f%d", i)), Data: data}
	}
	for b.Loop() {
		for _, err := range f.WriteBatch(b.Context(), batch) {
			must(b, err)
		}
	}
	b.ReportMetric(float64(len(batch)*b.N)/b.Elapsed().Seconds(), "files/s")
}
