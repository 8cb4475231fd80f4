package hdfsfs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const appending = pfs.OpenRead | pfs.OpenWrite | pfs.OpenAppend

// appendAll writes p at the end of the file of h.
func appendAll(t *testing.T, h pfs.Handle, p []byte) {
	t.Helper()
	if n, err := h.WriteAt(t.Context(), p, 0); n != len(p) || err != nil {
		t.Fatalf("WriteAt of %d = %d, %v", len(p), n, err)
	}
}

func openFor(t *testing.T, f *FS, name pfs.Path, flags pfs.OpenFlags) *handle {
	t.Helper()
	h, err := f.OpenHandle(t.Context(), name, flags, 0o600)
	must(t, err)
	t.Cleanup(func() { h.Close(t.Context()) })
	return h.(*handle)
}

// TestAppend appends up to, across and after the ends of checksum chunks and blocks.
func TestAppend(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	h := openFor(t, f, "/f", appending|pfs.OpenCreate|pfs.OpenExclusive)
	must(t, f.Rename(t.Context(), "/f", "/g"))
	data := pfstest.Pattern(1, 3*small+777)
	at := 0
	for i, end := range []int{1, 500, 512, 70_000, small - 1, small, small + 512, 2*small + 100, len(data)} {
		appendAll(t, h, data[at:end])
		if info, err := h.Stat(t.Context()); err != nil || info.Size != int64(end) {
			t.Errorf("with %d bytes: the size is %d, %v", end, info.Size, err)
		}
		at = end
		if i == 2 {
			continue // two writes are synced together
		}
		must(t, h.Sync(t.Context()))
		got := make([]byte, end+1)
		if n, err := h.ReadAt(t.Context(), got, 0); n != end || err != io.EOF || string(got[:n]) != string(data[:end]) {
			t.Fatalf("with %d bytes: %d are read, %v", end, n, err)
		}
		pfstest.WantFile(t, f, "/g", data[:end])
	}
	must(t, h.Truncate(t.Context(), small+5))
	appendAll(t, h, data[small+5:small+10])
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, f, "/g", data[:small+10])
}

// TestAppendLong appends many blocks with one handle, which keeps the checksums of one block at most.
func TestAppendLong(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 64 << 10
	f := open(t, o)
	data := pfstest.Pattern(2, 8*64<<10+777)
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	for at := 0; at < len(data); at += 50_000 {
		appendAll(t, h, data[at:min(at+50_000, len(data))])
		if n := len(h.now.sums.Whole); n > 64<<10/checksumChunk {
			t.Fatalf("%d checksums are kept after %d bytes", n, at)
		}
		must(t, h.Sync(t.Context()))
	}
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, f, "/f", data)
}

// TestAppendTogether has two writers: the second one waits for a Sync of the first.
func TestAppendTogether(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	one := openFor(t, f, "/f", appending|pfs.OpenCreate)
	two := openFor(t, f, "/f", pfs.OpenWrite)
	appendAll(t, one, []byte("one"))
	_, err := two.WriteAt(t.Context(), []byte("two"), 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	must(t, one.Sync(t.Context()))
	_, err = two.WriteAt(t.Context(), []byte("two"), 0)
	pfstest.WantKind(t, err, pfs.Unsupported)
	if _, err = two.WriteAt(t.Context(), []byte("two"), 3); err != nil {
		t.Fatal(err)
	}
	must(t, two.Sync(t.Context()))
	appendAll(t, one, []byte("three"))
	must(t, one.Close(t.Context()))
	must(t, two.Close(t.Context()))
	pfstest.WantFile(t, f, "/f", []byte("onetwothree"))
}

// TestAppendLost loses the pipeline, the file, and stored bytes.
func TestAppendLost(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	for name, lose := range map[string]func(h *handle) pfs.Kind{
		"pipeline": func(h *handle) pfs.Kind { h.now.now.Abort(); return pfs.Stale },
		"file":     func(*handle) pfs.Kind { must(t, f.Remove(t.Context(), "/f")); return pfs.Stale },
		"bytes":    func(h *handle) pfs.Kind { h.to++; return pfs.Integrity },
	} {
		t.Run(name, func(t *testing.T) {
			f.Remove(t.Context(), "/f")
			pfstest.WriteFile(t, f, "/f", []byte("before"))
			h := openFor(t, f, "/f", appending)
			appendAll(t, h, []byte("lost"))
			want := lose(h)
			err := h.Sync(t.Context())
			t.Log(err)
			pfstest.WantKind(t, err, want)
			_, err = h.WriteAt(t.Context(), []byte("more"), 0)
			pfstest.WantKind(t, err, want)
			pfstest.WantKind(t, h.Close(t.Context()), want)
		})
	}
}

// TestReleased loses the pipeline of a file of which everything is synced, or that of an append before its first byte. HDFS
// closes the file soon, without another writer, unless another writer has it.
func TestReleased(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	closed := func(at string) bool {
		yes, err := f.askFile(t.Context(), "isFileClosed", at)
		must(t, err)
		return yes
	}
	wantClosed := func(name, at string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !closed(at); must(t, wait(t.Context(), 100*time.Millisecond)) {
			if time.Now().After(end) {
				t.Fatalf("%s is still open", name)
			}
		}
	}
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	appendAll(t, h, []byte("content"))
	must(t, h.Sync(t.Context()))
	h.now.now.Abort()
	must(t, h.Close(t.Context()))
	wantClosed("a file that was synced", h.path())
	pfstest.WantFile(t, f, "/f", []byte("content"))

	other := open(t, f.opts)
	st, err := f.statusAt(t.Context(), h.path())
	must(t, err)
	f.nodes.Close()
	f.nodes = datanode.NewClient(datanode.Options{Timeout: f.opts.Timeout, Dial: func(context.Context, string) (net.Conn, error) {
		return nil, io.ErrClosedPipe
	}})
	if _, err := f.beginAppend(t.Context(), h.path(), st); err == nil {
		t.Error("an append has begun without a DataNode")
	}
	wantClosed("a file whose append has not begun", h.path())

	h = openFor(t, other, "/f", appending)
	appendAll(t, h, []byte("more"))
	before := &attempt{fs: f, path: h.path(), holder: f.name, inode: h.now.inode}
	f.client.leases.hold(before.holder)
	before.yield(t.Context())
	must(t, wait(t.Context(), time.Second))
	must(t, h.Sync(t.Context()))
}

// TestContinue continues a file whose writer has died with a lease and with bytes that it had not synced.
func TestContinue(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(1, 2*small)
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	appendAll(t, h, data[:1000])
	must(t, h.Sync(t.Context()))
	appendAll(t, h, data[1000:small+777])
	h.now.now.Abort()
	other := openFor(t, f, "/f", appending)
	_, err := other.WriteAt(t.Context(), []byte("x"), 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	again, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), Continue: true}), "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	info, err := again.Stat(t.Context())
	if err != nil || info.Size < 1000 || info.Size > small+777 {
		t.Fatalf("%d bytes are left, %v", info.Size, err)
	}
	if n, err := again.WriteAt(t.Context(), data[info.Size:], info.Size); n != len(data)-int(info.Size) || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
	must(t, again.Close(t.Context()))
	pfstest.WantFile(t, f, "/f", data)
}

// TestAppendToAllReplicas: an append leaves out no replica of the last block, which could come back in its place.
func TestAppendToAllReplicas(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	for i := range 10 {
		appendAll(t, h, []byte("line\n"))
		must(t, h.flush(t.Context(), "test"))
		h.awaitReplicas(t.Context())
		blocks, err := f.BlockLocations(t.Context(), "/f", 0, 1)
		must(t, err)
		if want := h.file.Load().st.Replication; len(blocks) != 1 || len(blocks[0].Hosts) != want {
			t.Fatalf("after %d appends: %+v, want %d replicas", i+1, blocks, want)
		}
	}
}

// cutConn fails the next write, or the next read that gets something, once it is armed.
type cutConn struct {
	net.Conn
	write, read *atomic.Bool
}

func (c cutConn) Write(p []byte) (int, error) {
	if c.write.CompareAndSwap(true, false) {
		c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(p)
}

func (c cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.read.CompareAndSwap(true, false) {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestSyncRepaired loses the packet of a Sync, or the last one of a block that is closed, or its acknowledgement, after which the other
// DataNodes have closed their replicas. The block is on the disks of those that are left.
func TestSyncRepaired(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	f.nodes.Close()
	var lose struct{ write, read atomic.Bool }
	f.nodes = datanode.NewClient(datanode.Options{Timeout: f.opts.Timeout, Dial: func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return cutConn{conn, &lose.write, &lose.read}, err
	}})
	data := pfstest.Pattern(6, small)
	for name, how := range map[string]struct {
		lost *atomic.Bool
		end  func(h *handle) error
	}{
		"/packet":                      {&lose.write, func(h *handle) error { return h.Sync(t.Context()) }},
		"/acknowledgement":             {&lose.read, func(h *handle) error { return h.Sync(t.Context()) }},
		"/last packet":                 {&lose.write, func(h *handle) error { return h.flush(t.Context(), "test") }},
		"/acknowledgement of the last": {&lose.read, func(h *handle) error { return h.flush(t.Context(), "test") }},
	} {
		h := openFor(t, f, pfs.Path(name), appending|pfs.OpenCreate)
		appendAll(t, h, data[:small/2+100])
		time.Sleep(time.Second) // all of it is acknowledged
		how.lost.Store(true)
		must(t, how.end(h))
		if how.lost.Load() {
			t.Errorf("%s: nothing was lost", name)
		}
		appendAll(t, h, data[small/2+100:])
		must(t, h.Close(t.Context()))
		pfstest.WantFile(t, f, pfs.Path(name), data)
	}
}

// TestSyncedSurvives kills a process that appends and syncs. Others read the synced bytes while it runs, and after its death.
func TestSyncedSurvives(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	f := open(t, o)
	if at := os.Getenv("PFS_TEST_WRITER"); at != "" {
		o.Root = at
		writeUntilKilled(t, open(t, o))
	}
	writer := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSyncedSurvives$")
	writer.Env = append(os.Environ(), "PFS_TEST_WRITER="+o.Root)
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	synced := 0
	for lines := bufio.NewScanner(out); synced < small+small/2 && lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the writer says %q", lines.Text())
		}
		if synced = n; n%7 == 0 {
			got, err := readAll(t.Context(), f, "/f", small)
			if err != nil || len(got) < synced || !bytes.Equal(got, pfstest.Pattern(1, 2*small)[:len(got)]) {
				t.Fatalf("%d bytes are read, %d are synced, %v", len(got), synced, err)
			}
		}
	}
	must(t, writer.Process.Kill())
	_ = writer.Wait()
	h, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), Continue: true}), "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	defer h.Close(t.Context())
	got, err := readAll(t.Context(), f, "/f", small)
	if err != nil || len(got) < synced || synced < small || !bytes.Equal(got, pfstest.Pattern(1, 2*small)[:len(got)]) {
		t.Errorf("%d bytes are left, %d were synced, %v", len(got), synced, err)
	}
}

// writeUntilKilled appends and syncs, and prints how much it has synced.
func writeUntilKilled(t *testing.T, f *FS) {
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	data := pfstest.Pattern(1, 2*small)
	for n := 0; n+9999 < len(data); n += 9999 {
		appendAll(t, h, data[n:n+9999])
		must(t, h.Sync(t.Context()))
		fmt.Println(n + 9999)
	}
	time.Sleep(time.Hour)
}

// TestSyncKeepsTime: a time that is set after a Sync stays when the file is closed, and a Sync sets the time.
func TestSyncKeepsTime(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	old := time.UnixMilli(1_000_000_000_123)
	must(t, f.SetAttr(t.Context(), "/f", pfs.AttrModTime, pfs.Attrs{ModTime: old}))
	appendAll(t, h, []byte("one"))
	must(t, h.Sync(t.Context()))
	synced := pfstest.MustStat(t, f, "/f")
	if synced.ModTime.Equal(old) {
		t.Error("Sync has not set the time")
	}
	time.Sleep(2 * lingerTime)
	if now := pfstest.MustStat(t, f, "/f"); now.Version != synced.Version || h.now != nil {
		t.Errorf("the version was %q and is %q, open %v", synced.Version, now.Version, h.now != nil)
	}
	appendAll(t, h, []byte("two"))
	must(t, h.Sync(t.Context()))
	must(t, f.SetAttr(t.Context(), "/f", pfs.AttrModTime, pfs.Attrs{ModTime: old}))
	must(t, h.Close(t.Context()))
	if now := pfstest.MustStat(t, f, "/f"); !now.ModTime.Equal(old) || now.Size != 6 {
		t.Errorf("%d bytes of %v", now.Size, now.ModTime)
	}
}
