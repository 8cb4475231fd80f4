package hdfsfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/proto"
)

// logs returns a logger and its output.
func logs() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

// readAll reads name with buffers of n bytes through one File.
func readAll(ctx context.Context, f *FS, name pfs.Path, n int) ([]byte, error) {
	h, err := f.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var data []byte
	buf := make([]byte, n)
	for {
		k, err := h.ReadAt(ctx, buf, int64(len(data)))
		data = append(data, buf[:k]...)
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}

// readSoon reads a file once DataNodes that were started have reported their blocks.
func readSoon(ctx context.Context, f *FS, name pfs.Path) ([]byte, error) {
	for end := time.Now().Add(time.Minute); ; {
		got, err := readAll(ctx, f, name, small)
		if !is(err, pfs.Unavailable) || time.Now().After(end) {
			return got, err
		}
		_ = wait(ctx, 200*time.Millisecond)
	}
}

// TestDamagedReplica reads files with damaged data or checksums on one DataNode or two, for several kinds of checksums
// and lengths of reads. The store reports the damage to the NameNode.
func TestDamagedReplica(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	logger, told := logs()
	o.Logger = logger
	f := open(t, o)
	data := pfstest.Pattern(7, 3*small+12_345)
	pfstest.WriteFile(t, f, "/ours", data)
	names := []pfs.Path{"/ours"}
	if !testing.Short() {
		names = append(names, "/chunks-of-256", "/crc32", "/sums")
		put(t, c, data, f.at(names[1]), "dfs.bytes-per-checksum=256")
		put(t, c, data, f.at(names[2]), "dfs.checksum.type=CRC32")
		pfstest.WriteFile(t, f, "/sums", data)
	}
	for _, name := range names {
		flip := c.Flip
		if name == "/sums" {
			flip = c.FlipSum
		}
		flip(t, f.at(name), small+70_000, "dn1", "dn2")
		flip(t, f.at(name), 3, "dn3")
	}
	for _, name := range names {
		for range 4 {
			for _, n := range []int{100_000, 511, small} {
				if n == 511 && testing.Short() {
					continue
				}
				got, err := readAll(t.Context(), f, name, n)
				if err != nil {
					t.Fatalf("%s in pieces of %d: %v", name, n, err)
				}
				if !bytes.Equal(got, data) {
					t.Fatalf("%s in pieces of %d: wrong bytes were delivered", name, n)
				}
			}
		}
	}
	if !strings.Contains(told.String(), "a replica is damaged") {
		t.Errorf("the log does not tell about the damage: %q", told)
	}
	for end := time.Now().Add(time.Minute); ; must(t, wait(t.Context(), 100*time.Millisecond)) {
		found, err := f.located(t.Context(), f.at("/ours"), 0, 1)
		must(t, err)
		if n := len(found.Blocks[0].Locations); n == 2 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the NameNode names %d replicas of the first block, of which one is damaged", n)
		}
	}
}

// put stores data with Hadoop's own client and a property of it, in small blocks.
func put(t *testing.T, c *testbed.HDFSCluster, data []byte, to, property string) {
	t.Helper()
	from := path.Join(t.TempDir(), "data")
	must(t, writeLocal(from, data))
	c.Do(t, "fs", "-D", fmt.Sprintf("dfs.blocksize=%d", small), "-D", property, "-put", from, to)
}

// TestNoGoodReplica damages all of them.
func TestNoGoodReplica(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(7, 2*small)
	pfstest.WriteFile(t, f, "/f", data)
	c.Flip(t, f.at("/f"), small+200_000)
	got, err := readAll(t.Context(), f, "/f", 64<<10)
	pfstest.WantKind(t, err, pfs.Integrity)
	if !bytes.HasPrefix(data, got) || len(got) < small {
		t.Errorf("%d bytes were delivered, right %v", len(got), bytes.HasPrefix(data, got))
	}
	text := err.Error()
	for _, want := range []string{"/f", "blk_", "127.0.0.1:", "byte 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not name %q: %s", want, text)
		}
	}
	if strings.Count(text, "127.0.0.1:") != 3 {
		t.Errorf("the error does not name three DataNodes: %s", text)
	}
	// A second time, some of them may have noticed.
	_, err = readAll(t.Context(), f, "/f", small)
	pfstest.WantKind(t, err, pfs.Integrity)
}

// TestNoChecksums refuses reads that cannot be verified.
func TestNoChecksums(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	put(t, c, pfstest.Pattern(1, 10_000), f.at("/f"), "dfs.checksum.type=NULL")
	got, err := readAll(t.Context(), f, "/f", 4096)
	if err == nil || len(got) > 0 {
		t.Fatalf("%d bytes without checksums were delivered, error %v", len(got), err)
	}
}

// TestDataNodeLostWhileRead kills the DataNode that is read from.
func TestDataNodeLostWhileRead(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(3, 4*small)
	pfstest.WriteFile(t, f, "/f", data)
	c.Settle(t) // a NameNode knows the replicas a moment after the file is closed
	h, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer h.Close()
	p := make([]byte, len(data))
	must(t, pfs.ReadFull(t.Context(), h, p[:100_000], 0))
	c.Kill(t, "dn1")
	must(t, pfs.ReadFull(t.Context(), h, p[100_000:2*small], 100_000))
	c.Kill(t, "dn2")
	must(t, pfs.ReadFull(t.Context(), h, p[2*small:], 2*small))
	if !bytes.Equal(p, data) {
		t.Error("wrong bytes")
	}
	c.Kill(t, "dn3")
	_, err = readAll(t.Context(), f, "/f", small)
	pfstest.WantKind(t, err, pfs.Unavailable)
	c.Do(t, "start", "dn1", "dn2", "dn3")
	c.Settle(t) // DataNodes that were down for long report their blocks again
	pfstest.WantFile(t, f, "/f", data)
}

// TestDataNodeStallsWhileRead stops it without closing its connections.
func TestDataNodeStallsWhileRead(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	data := pfstest.Pattern(3, 2*small)
	pfstest.WriteFile(t, open(t, o), "/f", data)
	o.Timeout = 2 * time.Second
	f := open(t, o)
	c.Settle(t)
	c.Pause(t, "dn1")
	c.Pause(t, "dn2")
	pfstest.WantFile(t, f, "/f", data)
}

// send writes data as transfers do: after Integrity it sends a part again from its start, and after
// Unavailable it retries.
func send(ctx context.Context, w pfs.Staged, data []byte, at func(off int)) error {
	unit := int(w.Unit())
	for start := 0; start < len(data); start += unit {
		end := min(start+unit, len(data))
		failures, waits := 0, 0
		for off := start; off < end; {
			at(off)
			n := min(100_000, end-off)
			_, err := w.WriteAt(ctx, data[off:off+n], int64(off))
			switch {
			case err == nil:
				off += n
			case errors.Is(err, pfs.Integrity) && failures < 5:
				failures++
				off = start
			case errors.Is(err, pfs.Unavailable) && waits < 50 && wait(ctx, 100*time.Millisecond) == nil:
				waits++
			default:
				return err
			}
		}
	}
	return nil
}

// TestDataNodeLostWhileWritten kills one DataNode in the middle of a part, then
// another after the first is back, and so on.
func TestDataNodeLostWhileWritten(t *testing.T) {
	c := testbed.HDFSAlone(t)
	killWhileWritten(t, c, options(c, c.Scratch(t)))
}

// TestDataNodeLostWithSASL does the same, and kills one that is read from, where each
// connection is authenticated and each block needs a token.
func TestDataNodeLostWithSASL(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	f, data := killWhileWritten(t, c, secureOptions(t, c, c.Scratch(t)))
	c.Do(t, "start", "dn1", "dn2", "dn3")
	c.Settle(t)
	h, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer h.Close()
	p := make([]byte, len(data))
	must(t, pfs.ReadFull(t.Context(), h, p[:100_000], 0))
	c.Kill(t, "dn1")
	c.Kill(t, "dn2")
	must(t, pfs.ReadFull(t.Context(), h, p[100_000:], 100_000))
	if !bytes.Equal(p, data) {
		t.Error("wrong bytes")
	}
	c.Kill(t, "dn3")
	_, err = readAll(t.Context(), f, "/f", small)
	pfstest.WantKind(t, err, pfs.Unavailable)
	c.Do(t, "start", "dn1", "dn2", "dn3")
	c.Settle(t) // DataNodes that were down for long report their blocks again
	pfstest.WantFile(t, f, "/f", data)
}

// TestBatchWithoutDataNodes writes a batch of many files while no DataNode accepts a block. The
// batch ends after the files that were tried together, and succeeds when the DataNodes are back.
func TestBatchWithoutDataNodes(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	var entries []pfs.BatchEntry
	for i := range 6 * batchWorkers {
		entries = append(entries, pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/f%d", i)), Data: []byte("content")})
	}
	for _, node := range []string{"dn1", "dn2", "dn3"} {
		c.Kill(t, node)
	}
	t.Cleanup(func() { c.Do(t, "start", "dn1", "dn2", "dn3") })
	tried := 0
	for i, err := range f.WriteBatch(t.Context(), entries) {
		pfstest.WantKind(t, err, pfs.Unavailable)
		if e := err.(*pfs.Error); e.Path != entries[i].Path || strings.Count(e.Error(), "/f") != 1 {
			t.Fatalf("the error of %s is %v", entries[i].Path, err)
		}
		if !strings.Contains(err.Error(), "not tried") {
			tried++
		}
	}
	if tried > 2*batchWorkers {
		t.Errorf("%d of %d files were tried", tried, len(entries))
	}
	c.Do(t, "start", "dn1", "dn2", "dn3")
	c.Settle(t)
	for _, err := range f.WriteBatch(t.Context(), entries) {
		must(t, err)
	}
	pfstest.WantFile(t, f, entries[len(entries)-1].Path, []byte("content"))
}

// killWhileWritten kills DataNodes one after the other while a file is written.
func killWhileWritten(t *testing.T, c *testbed.HDFSCluster, o Options) (*FS, []byte) {
	t.Helper()
	f := open(t, o)
	data := pfstest.Pattern(3, 6*small+777)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	done := map[int]bool{}
	var down string
	must(t, send(t.Context(), w, data, func(off int) {
		i := off / (2 * small)
		if off%(2*small) < 500_000 || done[i] || i > 2 {
			return
		}
		done[i] = true
		if down != "" {
			c.Start(t, down)
		}
		down = []string{"dn1", "dn2", "dn3"}[i]
		c.Kill(t, down)
	}))
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	if got, err := readSoon(t.Context(), f, "/f"); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes of %d, %v", len(got), len(data), err)
	}
	if len(done) != 3 {
		t.Errorf("%d DataNodes were killed, want 3", len(done))
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var at strings.Builder
		must(t, pprof.Lookup("goroutine").WriteTo(&at, 1))
		if !strings.Contains(at.String(), "datanode.(*Block)") {
			break
		}
		if time.Now().After(end) {
			t.Errorf("goroutines of blocks that were given up are left:\n%s", &at)
			break
		}
	}
	return f, data
}

// TestDataNodeLostInLongPart kills one DataNode after the other, each in the middle of a part that
// is much longer than the bytes in transit. The loss is reported soon, and the part is sent again.
func TestDataNodeLostInLongPart(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize = 16*small, 16*small
	f := open(t, o)
	data := pfstest.Pattern(8, 32*small)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	killed := map[string]bool{}
	kill := func(dn string, off, at int) {
		if off >= at && !killed[dn] {
			killed[dn] = true
			c.Kill(t, dn)
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- send(t.Context(), w, data, func(off int) {
			kill("dn1", off, 3*small)
			if off >= 16*small && killed["dn1"] && !killed["dn2"] {
				c.Start(t, "dn1")
			}
			kill("dn2", off, 16*small)
		})
	}()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(5 * time.Minute):
		t.Fatal("a write has not ended")
	}
	defer w.Close(t.Context())
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// TestDiscardedEndsAll checks that writes that are discarded in the middle of a part leave no
// goroutine.
func TestDiscardedEndsAll(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(9, small/2)
	discard := func() {
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
		must(t, err)
		defer w.Close(t.Context())
		_, err = w.WriteAt(t.Context(), data, 0)
		must(t, err)
	}
	discard()
	const writes = 20
	before := runtime.NumGoroutine()
	for range writes {
		discard()
	}
	for range 100 {
		if runtime.NumGoroutine() < before+writes {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d goroutines after %d discarded writes, %d before", runtime.NumGoroutine(), writes, before)
}

// TestDataNodesStallOnTheWay stops all DataNodes while packets are acknowledged early: bytes
// accepted by WriteAt do not count as stored.
func TestDataNodesStallOnTheWay(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.Timeout = 32<<20, 2*time.Second
	f := open(t, o)
	data := pfstest.Pattern(5, 10<<20)
	const before = 9<<20 + 512<<10
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), data[:before], 0)
	must(t, err)
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		c.Pause(t, dn)
	}
	_, err = w.WriteAt(t.Context(), data[before:], before)
	must(t, err)
	pfstest.WantKind(t, w.Sync(t.Context()), pfs.Integrity)
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		c.Resume(t, dn)
	}
	must(t, send(t.Context(), w, data, func(int) {}))
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// TestDeadDataNode writes while the NameNode still chooses dead DataNodes. The bytes survive the
// loss of one more DataNode if two were alive.
func TestDeadDataNode(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	pfstest.WriteFile(t, f, "/before", []byte("content"))
	c.Kill(t, "dn1")
	large, few := pfstest.Pattern(3, 5*small+99), pfstest.Pattern(4, 1000)
	pfstest.WriteFile(t, f, "/large", large)
	var batch []pfs.BatchEntry
	for i := range 20 {
		batch = append(batch, pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/few-%d", i)), Data: few})
	}
	must(t, errors.Join(f.WriteBatch(t.Context(), batch)...))
	c.Kill(t, "dn2")
	wantSoon(t, f, "/large", large)
	for _, e := range batch {
		wantSoon(t, f, e.Path, few)
	}
	pfstest.WriteFile(t, f, "/last", large)
	wantSoon(t, f, "/last", large)
	c.Kill(t, "dn3")
	w, err := f.Create(t.Context(), "/none", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), large, 0)
	pfstest.WantKind(t, err, pfs.Unavailable)
	if !strings.Contains(err.Error(), "DataNode") || !strings.Contains(err.Error(), "127.0.0.1:") {
		t.Errorf("the error does not name a DataNode: %v", err)
	}
	c.Do(t, "start", "dn1", "dn2", "dn3")
	c.Settle(t)
	c.Kill(t, "dn3")
	pfstest.WantFile(t, f, "/last", large)
}

// wantSoon reads a file that was just written, once the NameNode has heard of a replica
// that can be read.
func wantSoon(t *testing.T, f *FS, name pfs.Path, want []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := readAll(ctx, f, name, small)
	for errors.Is(err, pfs.Unavailable) && wait(ctx, 50*time.Millisecond) == nil {
		got, err = readAll(ctx, f, name, small)
	}
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: wrong bytes", name)
	}
}

// TestNameNodeRestarts kills it in the middle of a write and of a read.
func TestNameNodeRestarts(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(3, 3*small)
	pfstest.WriteFile(t, f, "/old", data)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	must(t, send(t.Context(), w, data[:2*small+1000], func(int) {}))
	c.Kill(t, "nn")
	_, err = f.Stat(t.Context(), "/old")
	pfstest.WantKind(t, err, pfs.Unavailable)
	_, err = f.List(t.Context(), pfs.Root, pfs.ListOptions{})
	pfstest.WantKind(t, err, pfs.Unavailable)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 2*small + 1000})
	pfstest.WantKind(t, err, pfs.Integrity) // the last 1000 bytes were in transit
	c.Start(t, "nn")
	c.Do(t, "admin", "-safemode", "wait")
	pfstest.WantFile(t, f, "/old", data)
	must(t, send(t.Context(), w, data, func(int) {}))
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// TestNameNodeStalls finds every operation ended at its deadline, with the right
// Kind, and all well afterwards. A write that is tried again afterwards succeeds.
func TestNameNodeStalls(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	patient := open(t, o)
	pfstest.WriteFile(t, patient, "/f", []byte("content"))
	o.Timeout = time.Second
	f := open(t, o)
	data := pfstest.Pattern(5, 4*small+99)
	var w pfs.Staged
	again(t, func() (err error) { // a busy machine takes a second, too
		w, err = f.Create(t.Context(), "/sent", pfs.CreateOptions{})
		return err
	})
	defer w.Close(t.Context())
	halfway, paused, sent := make(chan bool), make(chan bool), make(chan error)
	wait := sync.OnceFunc(func() { // bytes sent there are sent several times
		close(halfway)
		<-paused
	})
	go func() {
		sent <- send(t.Context(), w, data, func(off int) {
			if off == 2*small {
				wait()
			}
		})
	}()
	<-halfway
	c.Pause(t, "nn")
	close(paused)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, do := range map[string]func() error{
		"Stat":   func() error { _, err := f.Stat(ctx, "/f"); return err },
		"List":   func() error { _, err := f.List(ctx, pfs.Root, pfs.ListOptions{}); return err },
		"Open":   func() error { _, err := f.Open(ctx, "/f"); return err },
		"Create": func() error { _, err := f.Create(ctx, "/g", pfs.CreateOptions{}); return err },
		"Remove": func() error { return f.Remove(ctx, "/f") },
		"New":    func() error { _, err := New(ctx, o); return err },
	} {
		if err := do(); !errors.Is(err, pfs.Unavailable) {
			t.Errorf("%s: %v, want Unavailable", name, err)
		}
	}
	gone, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	_, err := patient.Stat(gone, "/f") // f may wait for a connection that the upload began to make a second ago
	pfstest.WantKind(t, err, pfs.Canceled)
	c.Resume(t, "nn")
	must(t, <-sent)
	again(t, func() error {
		_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
		if errors.Is(err, pfs.Integrity) { // a part that was to be stored in that time
			err = errors.Join(err, send(t.Context(), w, data, func(int) {}))
		}
		return err
	})
	pfstest.WantFile(t, patient, "/sent", data)
	if _, err := f.Stat(t.Context(), "/f"); err != nil && !errors.Is(err, pfs.NotExist) { // Remove may have come through
		t.Error(err)
	}
}

// TestChangedWhileRead gives bytes of the file that was opened, and Conflict once HDFS
// has removed them.
func TestChangedWhileRead(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	old := pfstest.Pattern(1, 2*small)
	for name, change := range map[string]func(){
		"replaced": func() { pfstest.WriteFile(t, f, "/f", pfstest.Pattern(2, 2*small)) },
		"removed":  func() { must(t, f.Remove(t.Context(), "/f")) },
	} {
		t.Run(name, func(t *testing.T) {
			pfstest.WriteFile(t, f, "/f", old)
			h, err := f.Open(t.Context(), "/f")
			must(t, err)
			defer h.Close()
			p := make([]byte, len(old))
			must(t, pfs.ReadFull(t.Context(), h, p[:100_000], 0))
			change()
			for n := len(old); n == len(old); must(t, wait(t.Context(), 20*time.Millisecond)) {
				if n, err = h.ReadAt(t.Context(), p, 0); !bytes.Equal(p[:n], old[:n]) {
					t.Fatal("bytes of another file were delivered")
				}
			}
			pfstest.WantKind(t, err, pfs.Conflict)
		})
	}
}

// TestNoSpace asks for more than the DataNodes have.
func TestNoSpace(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 1 << 47
	f := open(t, o)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), []byte("content"), 0)
	pfstest.WantKind(t, err, pfs.NoSpace)
	pfstest.WantKind(t, f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/f", Data: []byte("content")}})[0], pfs.NoSpace)
	pfstest.WantNames(t, f, pfs.Root)
}

// TestDisksFull writes until the disks of the DataNodes are full.
func TestDisksFull(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 8 << 20
	f := open(t, o)
	c.Capacity(t, 64<<20)
	ctx := t.Context()
	data := pfstest.Pattern(3, pfs.ChunkSize)
	h, err := f.OpenHandle(ctx, "/appended", pfs.OpenWrite|pfs.OpenAppend|pfs.OpenCreate, 0o600)
	must(t, err)
	w, err := f.Create(ctx, "/uploaded", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(ctx)
	for off := int64(0); err == nil; off += pfs.ChunkSize {
		if _, err = w.WriteAt(ctx, data, off); err == nil && off < 16<<20 {
			_, err = h.WriteAt(ctx, data, off)
		}
	}
	t.Log(err)
	pfstest.WantKind(t, err, pfs.NoSpace)
	for err = nil; err == nil; {
		_, err = h.WriteAt(ctx, data, 0)
	}
	t.Log(err)
	pfstest.WantKind(t, err, pfs.NoSpace)
}

// TestDeepPaths accepts paths up to the limit of HDFS.
func TestDeepPaths(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	deep := pfs.Root
	for range maxDepth - 2 { // the root of the store is one level, and the file below is another
		deep = deep.Join("d")
	}
	at := f.at(deep)
	must(t, f.tell(t.Context(), "mkdirs", &hdfsproto.MkdirsRequest{
		Path: &at, Permission: &hdfsproto.FilePermission{Bits: proto.Uint32(0o755)}, Parents: proto.Bool(true),
	}, rpc.Idempotent))
	pfstest.WriteFile(t, f, deep.Join("f"), []byte("content"))
	pfstest.WantFile(t, f, deep.Join("f"), []byte("content"))
	must(t, f.Mkdir(t.Context(), deep.Join("dir"), 0o755))
	below := deep.Join("dir").Join("f")
	_, err := f.Stat(t.Context(), below)
	pfstest.WantKind(t, err, pfs.Invalid)
	_, err = f.Create(t.Context(), below, pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.Invalid)
	pfstest.WantKind(t, f.Mkdir(t.Context(), below, 0o755), pfs.Invalid)
	pfstest.WantKind(t, f.Rename(t.Context(), deep.Join("f"), below), pfs.Invalid)
}

// TestNobodyThere connects to addresses without a listener, or with one that never answers.
func TestNobodyThere(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed.Close()
	for _, address := range []string{silent.Addr().String(), closed.Addr().String(), "no-such-host.invalid:8020"} {
		_, err := New(t.Context(), Options{NameNodes: []string{address}, Root: "/", User: "alice", Timeout: time.Second})
		pfstest.WantKind(t, err, pfs.Unavailable)
	}
}

// TestNotANameNode connects to the port of the NameNode's web server, a likely mistake.
func TestNotANameNode(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, "/")
	web, err := url.Parse(c.WebHDFS[0])
	must(t, err)
	o.NameNodes = []string{web.Host}
	_, err = New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unavailable)
	if err != nil && (!strings.Contains(err.Error(), web.Host) || !strings.Contains(err.Error(), "8020 by default")) {
		t.Errorf("the error does not say who is no NameNode: %v", err)
	}
}

func TestSafeMode(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	w, err := f.Create(t.Context(), "/g", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	leave := c.SafeMode(t)
	err = f.Mkdir(t.Context(), "/dir", 0o755)
	pfstest.WantKind(t, err, pfs.Unavailable)
	if !strings.Contains(err.Error(), "safe mode") {
		t.Errorf("the error does not say why: %v", err)
	}
	began := time.Now()
	_, err = w.WriteAt(t.Context(), []byte("x"), 0)
	pfstest.WantKind(t, err, pfs.Unavailable)
	errs := f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/small", Data: []byte("x")}})
	pfstest.WantKind(t, errs[0], pfs.Unavailable)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the answers took %v: no other pipeline helps there", took)
	}
	pfstest.WantKind(t, f.Remove(t.Context(), "/f"), pfs.Unavailable)
	pfstest.WantFile(t, f, "/f", []byte("content"))
	leave()
	must(t, f.Mkdir(t.Context(), "/dir", 0o755))
}

// TestFailover continues with the other NameNode after the first became standby, died or hangs.
func TestFailover(t *testing.T) {
	c := testbed.HDFSPair(t)
	o := options(c, c.Scratch(t))
	o.Timeout = 2 * time.Second
	f := open(t, o)
	data := pfstest.Pattern(1, 3*small)
	write := func(name pfs.Path) {
		t.Helper()
		// The connection at hand may be to the NameNode that is gone: its answer is
		// Unavailable, and callers come again.
		again(t, func() error {
			w, err := f.Create(t.Context(), name, pfs.CreateOptions{})
			if err != nil {
				return err
			}
			defer w.Close(t.Context())
			if err := send(t.Context(), w, data, func(int) {}); err != nil {
				return err
			}
			_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
			return err
		})
	}
	write("/first")
	c.Failover(t, "nn2")
	write("/gave-way")
	c.Kill(t, "nn2")
	c.Failover(t, "nn1")
	write("/died")
	c.Start(t, "nn2")
	c.Pause(t, "nn1")
	c.Failover(t, "nn2")
	write("/hangs")
	for _, name := range []pfs.Path{"/first", "/gave-way", "/died", "/hangs"} {
		pfstest.WantFile(t, f, name, data)
	}
}

// again repeats a call while it is Unavailable, as callers do.
func again(t *testing.T, do func() error) {
	t.Helper()
	var err error
	for range 10 {
		if err = do(); !errors.Is(err, pfs.Unavailable) && !errors.Is(err, pfs.Integrity) {
			break
		}
		t.Log("once more after: ", err)
	}
	must(t, err)
}
