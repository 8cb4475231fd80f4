package hdfsfs

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sync/errgroup"
)

// bench is a cluster with its own block size, and its user's clients.
type bench struct {
	*FS
	c   *testbed.HDFSCluster
	raw *hdfs.Client
}

func newBench(b *testing.B) *bench {
	c := testbed.HDFSAlone(b)
	o := options(c, c.Scratch(b))
	o.BlockSize = 0
	raw, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.NameNodes, User: c.Superuser})
	must(b, err)
	b.Cleanup(func() { raw.Close() })
	return &bench{open(b, o), c, raw}
}

// large is the length of the large file. It is eight of the cluster's blocks.
const large = 1 << 30

// write writes the file with n parts at once.
func (h *bench) write(b *testing.B, name pfs.Path, n int) {
	w, err := h.Create(b.Context(), name, pfs.CreateOptions{Size: large})
	must(b, err)
	defer w.Close(b.Context())
	data := pfstest.Pattern(1, pfs.ChunkSize)
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(n)
	for start := int64(0); start < large; start += w.Unit() {
		g.Go(func() error { return writeUnit(ctx, w, data, start) })
	}
	must(b, g.Wait())
	_, err = w.Commit(b.Context(), pfs.CommitOptions{Size: large})
	must(b, err)
}

func writeUnit(ctx context.Context, w pfs.Staged, data []byte, start int64) error {
	for off := start; off < min(large, start+w.Unit()); off += pfs.ChunkSize {
		if _, err := w.WriteAt(ctx, data, off); err != nil {
			return err
		}
	}
	return nil
}

// library writes the file with the plain library.
func (h *bench) library(b *testing.B, name pfs.Path) {
	must(b, h.raw.RemoveAll(h.at(name)))
	w, err := h.raw.Create(h.at(name))
	must(b, err)
	data := pfstest.Pattern(1, pfs.ChunkSize)
	for range large / pfs.ChunkSize {
		_, err := w.Write(data)
		must(b, err)
	}
	must(b, closeRaw(w))
}

// closeRaw closes a file of the library, which leaves the waiting to its caller.
func closeRaw(w *hdfs.FileWriter) error {
	for {
		if err := w.Close(); !hdfs.IsErrReplicating(err) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// BenchmarkWrite writes a large file. hdfs-put is Hadoop's own client with its compilers on: it
// writes two files in one process, and the time between their modification times counts.
func BenchmarkWrite(b *testing.B) {
	h := newBench(b)
	b.Setenv("_JAVA_OPTIONS", "-XX:TieredStopAtLevel=4")
	must(b, pfs.MkdirAll(b.Context(), h, "/put", 0o755))
	first, second := filepath.Join(b.TempDir(), "first"), filepath.Join(b.TempDir(), "second")
	must(b, writeLocal(first, pfstest.Pattern(1, large)))
	must(b, os.Link(first, second))
	var puts []time.Duration
	testbed.InTurn(b, large/1e6, "MB/s", []testbed.Way{
		{Name: "one-stream", Do: func(int) { h.write(b, "/f", 1) }},
		{Name: "library", Do: func(int) { h.library(b, "/raw") }},
		{Name: "two-streams", Do: func(int) { h.write(b, "/f", 2) }},
		{Name: "hdfs-put-twice-with-start", Do: func(round int) {
			if took := h.put(b, first, second); round > 0 {
				puts = append(puts, took)
			}
		}},
	})
	slices.Sort(puts)
	b.ReportMetric(large/1e6/puts[len(puts)/2].Seconds(), "hdfs-put-MB/s")
}

// put copies two files one after the other and returns how long the second one took.
func (h *bench) put(b *testing.B, first, second string) time.Duration {
	h.c.Do(b, "fs", "-put", "-f", first, second, h.at("/put"))
	var at [2]time.Time
	for i, file := range []string{first, second} {
		st, err := h.Stat(b.Context(), pfs.Path("/put").Join(filepath.Base(file)))
		must(b, err)
		at[i] = st.ModTime
	}
	return at[1].Sub(at[0])
}

// BenchmarkRead reads a large file, verified, and as the library does, unverified; then into a local file, which
// rclone does, too, where it is installed, with the library and unverified.
func BenchmarkRead(b *testing.B) {
	h := newBench(b)
	h.write(b, "/f", 2)
	buf := make([]byte, pfs.ChunkSize)
	down := filepath.Join(b.TempDir(), "down")
	ways := []testbed.Way{
		{Name: "verified", Do: func(int) { h.read(b, "/f", io.Discard, buf) }},
		{Name: "library", Do: func(int) {
			r, err := h.raw.Open(h.at("/f"))
			must(b, err)
			for range large / pfs.ChunkSize {
				_, err := io.ReadFull(r, buf)
				must(b, err)
			}
			must(b, r.Close())
		}},
		{Name: "verified-to-file", Do: func(int) {
			f, err := os.Create(down)
			must(b, err)
			h.read(b, "/f", f, buf)
			must(b, f.Close())
			must(b, os.Remove(down))
		}},
	}
	if rclone, err := exec.LookPath("rclone"); err == nil {
		ways = append(ways, testbed.Way{Name: "rclone-to-file", Do: func(int) {
			h.rclone(b, rclone, "copyto", h.remote("/f"), down)
			must(b, os.Remove(down))
		}})
	}
	testbed.InTurn(b, large/1e6, "MB/s", ways)
}

// read copies the large file to w.
func (h *bench) read(b *testing.B, name pfs.Path, w io.Writer, buf []byte) {
	r, err := h.Open(b.Context(), name)
	must(b, err)
	for off := int64(0); off < large; off += int64(len(buf)) {
		must(b, pfs.ReadFull(b.Context(), r, buf, off))
		_, err := w.Write(buf)
		must(b, err)
	}
	must(b, r.Close())
}

// BenchmarkStopped reads 4 MiB at random places of a large file, four at once, while a DataNode is stopped.
func BenchmarkStopped(b *testing.B) {
	h := newBench(b)
	h.write(b, "/f", 2)
	h.c.Settle(b)
	h.c.Pause(b, "dn1")
	const reads, atOnce = 400, 4
	for b.Loop() {
		f := open(b, options(h.c, h.opts.Root)) // which does not know it yet
		r, err := f.Open(b.Context(), "/f")
		must(b, err)
		took := make([]time.Duration, reads)
		var g errgroup.Group
		g.SetLimit(atOnce)
		for i := range took {
			g.Go(func() error {
				begun := time.Now()
				defer func() { took[i] = time.Since(begun) }()
				return pfs.ReadFull(b.Context(), r, make([]byte, pfs.ChunkSize), rand.Int64N(large-pfs.ChunkSize))
			})
		}
		must(b, g.Wait())
		must(b, r.Close())
		slices.Sort(took)
		b.ReportMetric(float64(took[reads/2].Milliseconds()), "p50-ms")
		b.ReportMetric(float64(took[reads*99/100].Milliseconds()), "p99-ms")
		b.ReportMetric(float64(took[reads-1].Milliseconds()), "max-ms")
	}
}

// remote is name as rclone's remote for HDFS has it.
func (h *bench) remote(name pfs.Path) string {
	return fmt.Sprintf(":hdfs,namenode='%s',username=%s:%s", h.c.NameNodes[0], h.c.Superuser, h.at(name))
}

// rclone runs that program without a configuration.
func (h *bench) rclone(b *testing.B, program string, args ...string) {
	out, err := exec.Command(program, append(args, "--config", os.DevNull)...).CombinedOutput()
	if err != nil {
		b.Fatalf("rclone: %v: %s", err, strings.TrimSpace(string(out)))
	}
}

// BenchmarkSmallFiles writes a thousand files of 16 KiB, by two batches at once, and by
// rclone's remote for HDFS where rclone is installed.
func BenchmarkSmallFiles(b *testing.B) {
	h := newBench(b)
	const files, dirs = 1000, 10
	from, data := b.TempDir(), pfstest.Pattern(1, 16<<10)
	for i := range files {
		must(b, writeLocal(filepath.Join(from, fmt.Sprintf("d%d/f%d", i%dirs, i)), data))
	}
	ways := []testbed.Way{{Name: "batches", Do: func(round int) {
		top := pfs.Path(fmt.Sprintf("/batches-%d", round))
		var g errgroup.Group
		for half := range 2 {
			g.Go(func() error { return h.batch(b, top, from, half*files/2, files/2, dirs) })
		}
		must(b, g.Wait())
	}}}
	if rclone, err := exec.LookPath("rclone"); err == nil {
		ways = append(ways, testbed.Way{Name: "rclone", Do: func(round int) {
			h.rclone(b, rclone, "copy", "--transfers", "16", from, h.remote(pfs.Path(fmt.Sprintf("/rclone-%d", round))))
		}})
	}
	testbed.InTurn(b, files, "files/s", ways)
}

// batch copies n files of the directory from, from the first on.
func (h *bench) batch(b *testing.B, top pfs.Path, from string, first, n, dirs int) error {
	for d := range dirs {
		if err := pfs.MkdirAll(b.Context(), h, top.Join(fmt.Sprintf("d%d", d)), 0o755); err != nil {
			return err
		}
	}
	entries := make([]pfs.BatchEntry, n)
	for i := range entries {
		name := fmt.Sprintf("d%d/f%d", (first+i)%dirs, first+i)
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		entries[i] = pfs.BatchEntry{Path: top + pfs.Path("/"+name), Data: data, ModTime: time.Now()}
	}
	for _, err := range h.WriteBatch(b.Context(), entries) {
		if err != nil {
			return err
		}
	}
	return nil
}
