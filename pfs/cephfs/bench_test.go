//go:build ceph

package cephfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// compare measures the ways and also reports each as a multiple of the first.
func compare(b *testing.B, amount float64, unit string, ways []testbed.Way) {
	b.Helper()
	rates := testbed.InTurn(b, amount, unit+"/s", ways)
	for i, w := range ways[1:] {
		b.ReportMetric(rates[i+1]/rates[0], w.Name+"-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// rawMount is a mount of a program that uses go-ceph alone.
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

// benchSize is the length of the one large file.
const benchSize = 1 << 30

// pieces are the buffer lengths for reads and writes: the service's buffer, and a chunk.
var pieces = []int{256 << 10, pfs.ChunkSize}

func pieceName(piece int) string { return fmt.Sprintf("store-%dKiB", piece>>10) }

// BenchmarkWrite writes one large file durably, in one stream: with a loop over go-ceph, and
// through the store.
func BenchmarkWrite(b *testing.B) {
	c := testbed.Ceph(b)
	m, one := rawMount(b, c), openStore(b, optionsOf(c))
	dir := newDir(b, one)
	f, p := pfstest.NewSub(one, dir), pfstest.Pattern(1, pfs.ChunkSize)
	ways := []testbed.Way{{Name: "go-ceph", Do: func(int) { writeRaw(b, m, string(dir)+"/raw", p) }}}
	for _, piece := range pieces {
		ways = append(ways, testbed.Way{Name: pieceName(piece), Do: func(int) { writeBench(b, f, p, piece) }})
	}
	compare(b, benchSize/1e6, "MB", ways)
}

func writeRaw(b *testing.B, m *cephfs.MountInfo, name string, p []byte) {
	m.Unlink(name)
	f, err := m.Open(name, syscall.O_CREAT|syscall.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); off < benchSize; off += pfs.ChunkSize {
		if n, err := f.WriteAt(p, off); n != len(p) || err != nil {
			b.Fatal(n, err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
}

// writeBench writes p repeatedly, in pieces.
func writeBench(b *testing.B, f pfs.FileSystem, p []byte, piece int) {
	w, err := f.Create(b.Context(), "/f", pfs.CreateOptions{Size: benchSize})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close(b.Context())
	for off := 0; off < benchSize; off += piece {
		at := off % len(p)
		if _, err := w.WriteAt(b.Context(), p[at:at+piece], int64(off)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Commit(b.Context(), pfs.CommitOptions{Size: benchSize}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads one large file, as BenchmarkWrite writes it.
func BenchmarkRead(b *testing.B) {
	c := testbed.Ceph(b)
	m, one := rawMount(b, c), openStore(b, optionsOf(c))
	dir := newDir(b, one)
	f := pfstest.NewSub(one, dir)
	writeBench(b, f, pfstest.Pattern(1, pfs.ChunkSize), pfs.ChunkSize)
	p := make([]byte, pfs.ChunkSize)
	ways := []testbed.Way{{Name: "go-ceph", Do: func(int) { readRaw(b, m, string(dir)+"/f", p) }}}
	for _, piece := range pieces {
		ways = append(ways, testbed.Way{Name: pieceName(piece), Do: func(int) { readBench(b, f, p[:piece]) }})
	}
	compare(b, benchSize/1e6, "MB", ways)
}

// BenchmarkGoCeph writes and reads one large file with loops over go-ceph alone, for a comparison with programs.
func BenchmarkGoCeph(b *testing.B) {
	c := testbed.Ceph(b)
	m, one := rawMount(b, c), openStore(b, optionsOf(c))
	name, p := string(newDir(b, one))+"/raw", pfstest.Pattern(1, pfs.ChunkSize)
	testbed.InTurn(b, benchSize/1e6, "MB/s", []testbed.Way{
		{Name: "write", Do: func(int) { writeRaw(b, m, name, p) }},
		{Name: "read", Do: func(int) { readRaw(b, m, name, p) }},
	})
}

func readRaw(b *testing.B, m *cephfs.MountInfo, name string, p []byte) {
	f, err := m.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); off < benchSize; off += int64(len(p)) {
		if n, err := f.ReadAt(p, off); n != len(p) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func readBench(b *testing.B, fsys pfs.FileSystem, p []byte) {
	f, err := fsys.Open(b.Context(), "/f")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); off < benchSize; off += int64(len(p)) {
		if err := pfs.ReadFull(b.Context(), f, p, off); err != nil {
			b.Fatal(err)
		}
	}
}

// smallFiles is the number of small files, of 16 KiB each.
const smallFiles = 5000

// BenchmarkSmallFiles copies a directory of small files from disk: with cp through ceph-fuse, which
// is not durable, with cp and then sync of each file, with a loop over go-ceph, and through the
// store in batches.
func BenchmarkSmallFiles(b *testing.B) {
	c := testbed.Ceph(b)
	m, one := rawMount(b, c), openStore(b, optionsOf(c))
	mounted := fuseMount(b, c)
	src := b.TempDir()
	for i := range smallFiles {
		if err := os.WriteFile(filepath.Join(src, strconv.Itoa(i)), pfstest.Pattern(uint64(i), 16<<10), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	dir := newDir(b, one)
	into := func(way string, round int) pfs.Path { return dir.Join(fmt.Sprint(way, round)) }
	through := func(way string, round int) string { return filepath.Join(mounted, string(into(way, round))) }
	compare(b, smallFiles, "files", []testbed.Way{
		{Name: "ceph-fuse", Do: func(round int) { mustRun(b, "cp", "-r", src, through("fuse", round)) }},
		{Name: "ceph-fuse-sync", Do: func(round int) { copySynced(b, src, through("synced", round)) }},
		{Name: "go-ceph", Do: func(round int) { copyRaw(b, m, src, string(into("raw", round))) }},
		{Name: "store", Do: func(round int) { copyBatches(b, one, src, into("store", round)) }},
	})
}

// fuseMount mounts the cluster's file system with ceph-fuse.
func fuseMount(b *testing.B, c testbed.CephCluster) string {
	b.Helper()
	program, err := exec.LookPath("ceph-fuse")
	if err != nil {
		b.Skip(err)
	}
	at := b.TempDir()
	mustRun(b, program, "-c", c.Conf, "--id", c.User, "-k", c.Keyring, at)
	b.Cleanup(func() {
		if err := syscall.Unmount(at, 0); err != nil {
			b.Error(err)
		}
	})
	return at
}

// mustRun runs a program that must succeed.
func mustRun(b *testing.B, name string, args ...string) {
	b.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", name, err, out)
	}
}

// copySynced copies with the durability of a batch of the store.
func copySynced(b *testing.B, src, dst string) {
	mustRun(b, "cp", "-r", src, dst)
	var files []string
	for i := range smallFiles {
		files = append(files, filepath.Join(dst, strconv.Itoa(i)))
	}
	mustRun(b, "sync", files...)
	mustRun(b, "sync", dst)
}

func copyRaw(b *testing.B, m *cephfs.MountInfo, src, dst string) {
	if err := m.MakeDir(dst, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range smallFiles {
		data, err := os.ReadFile(filepath.Join(src, strconv.Itoa(i)))
		if err != nil {
			b.Fatal(err)
		}
		f, err := m.Open(dst+"/"+strconv.Itoa(i), syscall.O_CREAT|syscall.O_WRONLY, 0o644)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := f.WriteAt(data, 0); n != len(data) || err != nil {
			b.Fatal(n, err)
		}
		f.Close()
	}
	if err := m.SyncFs(); err != nil {
		b.Fatal(err)
	}
}

// copyBatches writes several batches at once, and gives files their times, as a sender does.
func copyBatches(b *testing.B, f FS, src string, dst pfs.Path) {
	const batch, jobs = 500, 3
	pfstest.MustMkdir(b, f, dst)
	inParallel(jobs, smallFiles/batch, func(k int) {
		var entries []pfs.BatchEntry
		for i := k * batch; i < (k+1)*batch; i++ {
			data, err := os.ReadFile(filepath.Join(src, strconv.Itoa(i)))
			if err != nil {
				b.Error(err)
				return
			}
			entries = append(entries, pfs.BatchEntry{Path: dst.Join(strconv.Itoa(i)), Data: data, ModTime: time.Now(), Digest: digest.Bytes(data)})
		}
		if err := errors.Join(f.WriteBatch(b.Context(), entries)...); err != nil {
			b.Error(err)
		}
	})
}
