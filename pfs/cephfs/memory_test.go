//go:build ceph

package cephfs

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// Benchmark64Transfers transfers 64 files at once and reports the peak memory of the process.
func Benchmark64Transfers(b *testing.B) {
	one := openStore(b, optionsOf(testbed.Ceph(b)))
	f := pfstest.NewSub(one, newDir(b, one))
	data := pfstest.Pattern(1, 16<<20)
	b.SetBytes(64 * int64(len(data)))
	for b.Loop() {
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				name := pfs.Root.Join(fmt.Sprint("f", i))
				if err := moveInPieces(b, f, name, data); err != nil {
					b.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(peak(b)>>20), "MiB-resident")
}

// peak returns the peak resident memory of the process, in bytes.
func peak(b *testing.B) (n int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %d kB", &n)
	}
	return n << 10
}

// moveInPieces writes and reads a file as a service does.
func moveInPieces(b *testing.B, f pfs.FileSystem, name pfs.Path, data []byte) error {
	const piece = 256 << 10
	w, err := f.Create(b.Context(), name, pfs.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Close(b.Context())
	for off := 0; off < len(data); off += piece {
		if _, err := w.WriteAt(b.Context(), data[off:off+piece], int64(off)); err != nil {
			return err
		}
	}
	if _, err := w.Commit(b.Context(), pfs.CommitOptions{Size: int64(len(data))}); err != nil {
		return err
	}
	r, err := f.Open(b.Context(), name)
	if err != nil {
		return err
	}
	defer r.Close()
	p := make([]byte, piece)
	for off := 0; off < len(data); off += piece {
		if err := pfs.ReadFull(b.Context(), r, p, int64(off)); err != nil {
			return err
		}
		if string(p) != string(data[off:off+piece]) {
			return fmt.Errorf("wrong bytes at %d", off)
		}
	}
	return nil
}
