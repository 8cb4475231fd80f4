//go:build ceph

package cephfs

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const benchSize = 256 << 20

// rawMount is a mount as a program makes it that uses go-ceph alone.
func rawMount(b *testing.B, c testbed.CephCluster) *cephfs.MountInfo {
	b.Helper()
	m, err := cephfs.CreateMountWithId(c.User)
	for _, step := range []func() error{
		func() error { return err },
		func() error { return m.ReadConfigFile(c.Conf) },
		func() error { return m.Mount() },
	} {
		if err := step(); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		m.Unmount()
		m.Release()
	})
	return m
}

// BenchmarkWrite writes one large file durably: with a loop over go-ceph, and through the store with
// one piece and with several on their way.
func BenchmarkWrite(b *testing.B) {
	c := testbed.Ceph(b)
	p := pfstest.Pattern(1, pfs.ChunkSize)
	b.Run("go-ceph", func(b *testing.B) {
		m := rawMount(b, c)
		b.SetBytes(benchSize)
		for b.Loop() {
			f, err := m.Open("/raw", syscall.O_CREAT|syscall.O_TRUNC|syscall.O_WRONLY, 0o644)
			if err != nil {
				b.Fatal(err)
			}
			for off := int64(0); off < benchSize; off += pfs.ChunkSize {
				if _, err := f.WriteAt(p, off); err != nil {
					b.Fatal(err)
				}
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
		m.Unlink("/raw")
	})
	for _, jobs := range []int{1, 4} {
		for _, piece := range []int{256 << 10, pfs.ChunkSize} {
			b.Run(fmt.Sprintf("store/jobs=%d/piece=%dKiB", jobs, piece>>10), func(b *testing.B) {
				one := openStore(b, optionsOf(c))
				f := one.Below(newDir(b, one))
				b.SetBytes(benchSize)
				for b.Loop() {
					writeBench(b, f, p, jobs, piece)
				}
				if err := f.Remove(b.Context(), "/f"); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// writeBench writes one file, each chunk in pieces, some chunks at once.
func writeBench(b *testing.B, f pfs.FileSystem, p []byte, jobs, piece int) {
	w, err := f.Create(b.Context(), "/f", pfs.CreateOptions{Size: benchSize})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	var wg sync.WaitGroup
	for j := range jobs {
		wg.Go(func() {
			for off := j * pfs.ChunkSize; off < benchSize; off += jobs * pfs.ChunkSize {
				for at := 0; at < pfs.ChunkSize; at += piece {
					if _, err := w.WriteAt(b.Context(), p[at:at+piece], int64(off+at)); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if _, err := w.Commit(b.Context(), pfs.CommitOptions{Size: benchSize}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads one large file, as BenchmarkWrite writes it.
func BenchmarkRead(b *testing.B) {
	c := testbed.Ceph(b)
	one := openStore(b, optionsOf(c))
	dir := newDir(b, one)
	f := one.Below(dir)
	writeBench(b, f, pfstest.Pattern(1, pfs.ChunkSize), 4, pfs.ChunkSize)
	b.Run("go-ceph", func(b *testing.B) {
		m := rawMount(b, c)
		p := make([]byte, pfs.ChunkSize)
		b.SetBytes(benchSize)
		for b.Loop() {
			f, err := m.Open(string(dir)+"/f", syscall.O_RDONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			for off := int64(0); off < benchSize; off += pfs.ChunkSize {
				if n, err := f.ReadAt(p, off); n != len(p) || err != nil {
					b.Fatal(n, err)
				}
			}
			f.Close()
		}
	})
	for _, jobs := range []int{1, 4} {
		for _, piece := range []int{256 << 10, pfs.ChunkSize} {
			b.Run(fmt.Sprintf("store/jobs=%d/piece=%dKiB", jobs, piece>>10), func(b *testing.B) {
				b.SetBytes(benchSize)
				for b.Loop() {
					readBench(b, f, jobs, piece)
				}
			})
		}
	}
}

// readBench reads one file, as writeBench writes it.
func readBench(b *testing.B, fsys pfs.FileSystem, jobs, piece int) {
	f, err := fsys.Open(b.Context(), "/f")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for j := range jobs {
		wg.Go(func() {
			p := make([]byte, piece)
			for off := j * pfs.ChunkSize; off < benchSize; off += jobs * pfs.ChunkSize {
				for at := 0; at < pfs.ChunkSize; at += piece {
					if err := pfs.ReadFull(b.Context(), f, p, int64(off+at)); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkSmallFiles writes 1000 files of 16 KiB in one batch.
func BenchmarkSmallFiles(b *testing.B) {
	c := testbed.Ceph(b)
	one := openStore(b, optionsOf(c))
	data := pfstest.Pattern(1, 16<<10)
	for b.Loop() {
		dir := newDir(b, one)
		entries := make([]pfs.BatchEntry, 1000)
		for i := range entries {
			entries[i] = pfs.BatchEntry{Path: dir.Join(fmt.Sprint("f", i)), Data: data}
		}
		for _, err := range one.WriteBatch(b.Context(), entries) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
