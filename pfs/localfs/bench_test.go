package localfs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// BenchmarkWriteBatch makes 10,000 files of 4 KiB per round, in batches. ext4 skips inodes that
// were deleted in the last minutes: after a large removal on the same disk it takes several times
// as long.
func BenchmarkWriteBatch(b *testing.B) {
	const files = 10_000
	data := pfstest.Pattern(1, 4096)
	sum := digest.Bytes(data)
	for _, size := range []int{256, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f, _ := openStore(b, Options{})
			b.SetBytes(files * 4096)
			for round := 0; b.Loop(); round++ {
				dir := pfs.Root.Join(fmt.Sprint(round))
				pfstest.MustMkdir(b, f, dir)
				for n := 0; n < files; n += size {
					batch := make([]pfs.BatchEntry, min(size, files-n))
					for i := range batch {
						batch[i] = pfs.BatchEntry{Path: dir.Join(fmt.Sprint(n + i)), Data: data, Digest: sum}
					}
					for _, err := range f.WriteBatch(b.Context(), batch) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
}

// BenchmarkList reads a directory of 100,000 names per round.
func BenchmarkList(b *testing.B) {
	const names = 100_000
	f, _ := openStore(b, Options{NoSync: true})
	makeNames(b, f, pfs.Root, names)
	for b.Loop() {
		n := 0
		for _, err := range pfs.Entries(b.Context(), f, pfs.Root, nil) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != names {
			b.Fatalf("%d entries, want %d", n, names)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*names), "ns/entry")
}

// makeNames makes n empty files in dir.
func makeNames(t testing.TB, f *FS, dir pfs.Path, n int) {
	t.Helper()
	batch := make([]pfs.BatchEntry, 0, groupFiles)
	for i := range n {
		batch = append(batch, pfs.BatchEntry{Path: dir.Join(fmt.Sprintf("name-%07d", i))})
		if len(batch) < cap(batch) && i < n-1 {
			continue
		}
		for _, err := range f.WriteBatch(t.Context(), batch) {
			if err != nil {
				t.Fatal(err)
			}
		}
		batch = batch[:0]
	}
}

// BenchmarkStagedWrite stages and commits 256 MiB per round, durably.
func BenchmarkStagedWrite(b *testing.B) {
	const size = 256 << 20
	chunk := pfstest.Pattern(1, pfs.ChunkSize)
	f, _ := openStore(b, Options{})
	b.SetBytes(size)
	for b.Loop() {
		w, err := f.Create(b.Context(), "/f", pfs.CreateOptions{Size: size})
		if err != nil {
			b.Fatal(err)
		}
		for off := int64(0); off < size; off += pfs.ChunkSize {
			if _, err := w.WriteAt(b.Context(), chunk, off); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Commit(b.Context(), pfs.CommitOptions{Size: size}); err != nil {
			b.Fatal(err)
		}
		w.Close(b.Context())
	}
}

// BenchmarkSmallOperations measures the cost of operations on a path.
func BenchmarkSmallOperations(b *testing.B) {
	f, _ := openStore(b, Options{NoSync: true})
	const dir = pfs.Path("/a/b/c/d/e")
	pfstest.MustMkdir(b, f, dir)
	pfstest.WriteFile(b, f, dir.Join("f"), []byte("content"))
	b.Run("Stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := f.Stat(b.Context(), dir.Join("f")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Rename", func(b *testing.B) {
		from, to := dir.Join("f"), dir.Join("g")
		for b.Loop() {
			if err := f.Rename(b.Context(), from, to); err != nil {
				b.Fatal(err)
			}
			from, to = to, from
		}
	})
}

// BenchmarkDepth measures the cost of a deep path for changes that count against a quota, and of a
// deep tree for walks, in total and per level.
func BenchmarkDepth(b *testing.B) {
	for _, depth := range []int{4, 64, 1000} {
		f, _ := openStore(b, Options{NoSync: true})
		b.Cleanup(func() { f.RemoveTree(context.Background(), "/d") })
		makeChain(b, f, depth).Close()
		dir := pfs.Path(strings.Repeat("/d", depth))
		for _, bench := range []struct {
			name string
			do   func() error
		}{
			{"Mkdir", func() error { return f.Mkdir(b.Context(), dir, 0o755) }},
			{"Create", func() error {
				w, err := f.Create(b.Context(), dir.Join("f"), pfs.CreateOptions{})
				if err == nil {
					err = w.Close(b.Context())
				}
				return err
			}},
			{"Usage", func() error { _, err := f.Usage(b.Context(), "/"); return err }},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, depth), func(b *testing.B) {
				for b.Loop() {
					if err := bench.do(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/level")
			})
		}
	}
}
