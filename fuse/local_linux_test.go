package fuse

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// mountCached mounts a store with a cache, read-only if there is no Protection.
func mountCached(t testing.TB, store pfs.FileSystem, opts Options) (string, *cachefs.FS) {
	t.Helper()
	c, err := cachefs.New(store, cachefs.Options{Dirs: []string{t.TempDir()}, Size: 1 << 30, Reserve: 1, Settle: -1})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	opts.Squash = true
	opts.ReadOnly = opts.ReadOnly || opts.Protection == nil
	opts.Cache = func() any { return c.Status() }
	return mount(t, c, opts), c
}

// TestPassthrough reads a file that becomes whole in the cache, and replaces it while it is open.
func TestPassthrough(t *testing.T) {
	store := memfs.New(memfs.Options{})
	old, changed := pfstest.Pattern(1, 10<<20), pfstest.Pattern(2, 9<<20)
	pfstest.WriteFile(t, store, "/f", old)
	dir, c := mountCached(t, store, Options{OpenMode: Passthrough, Timeout: 50 * time.Millisecond})
	name := filepath.Join(dir, "f")
	read := func(want []byte) {
		t.Helper()
		got, err := os.ReadFile(name)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatal("wrong bytes")
		}
	}
	read(old)
	time.Sleep(300 * time.Millisecond) // until it is on the disk
	st := (entry{dir: dir}).status()
	if os.Geteuid() == 0 && st.OpenMode != Passthrough || st.Cache == nil {
		t.Errorf("status %+v", st)
	}
	before := c.Status()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, len(old), syscall.PROT_READ, syscall.MAP_SHARED)
	must(t, err)
	if !bytes.Equal(m, old) {
		t.Error("wrong bytes in memory")
	}
	must(t, syscall.Munmap(m))
	got := make([]byte, len(old))
	if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, old) {
		t.Errorf("wrong bytes, %v", err)
	}
	if after := c.Status(); st.OpenMode == Passthrough && (after.Hit != before.Hit || after.Missed != before.Missed) {
		t.Errorf("the kernel asked for bytes: %+v, then %+v", before, after)
	}

	pfstest.WriteFile(t, store, "/f", changed)
	time.Sleep(100 * time.Millisecond)
	read(changed)
	read(changed)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, old) {
		t.Errorf("the open file has other bytes, %v", err)
	}
	f.Close()
	read(changed)
}

// TestNoOpen reads small files on a mount to which the kernel sends no opens.
func TestNoOpen(t *testing.T) {
	store := memfs.New(memfs.Options{})
	const files = mostUnopened + 100
	for i := range files {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/f%d", i)), pfstest.Pattern(uint64(i), 5000))
	}
	dir, _ := mountCached(t, store, Options{OpenMode: NoOpen, Timeout: 50 * time.Millisecond})
	for range 2 {
		for i := range files {
			got, err := os.ReadFile(fmt.Sprintf("%s/f%d", dir, i))
			must(t, err)
			if !bytes.Equal(got, pfstest.Pattern(uint64(i), 5000)) {
				t.Fatalf("wrong bytes in file %d", i)
			}
		}
	}
	pfstest.WriteFile(t, store, "/f7", []byte("changed"))
	time.Sleep(100 * time.Millisecond)
	if got, err := os.ReadFile(dir + "/f7"); err != nil || string(got) != "changed" {
		t.Errorf("%.20q, %v", got, err)
	}
	f, err := os.Open(dir + "/f7")
	must(t, err)
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Errorf("fsync: %v", err)
	}
	if st := (entry{dir: dir}).status(); st.OpenMode != NoOpen {
		t.Errorf("status %+v", st)
	}
	_, err = Mount(t.Context(), store, t.TempDir(), Options{OpenMode: NoOpen})
	pfstest.WantKind(t, err, pfs.Invalid)
}

// protected is the Protection of a mount that reads /public and /public/set/N, and changes the rest.
func protected(_ context.Context, dir pfs.Path) (Protection, error) {
	switch {
	case dir == "/public/set/1":
		return Immutable, nil
	case dir.Within("/public"):
		return Foreign, nil
	}
	return Unprotected, nil
}

// counted returns below with a count of its operations.
func counted(below pfs.FileSystem) (pfs.FileSystem, *atomic.Int64) {
	var calls atomic.Int64
	return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		calls.Add(1)
		return call(below, name)
	}), &calls
}

// TestNoOpenList lists directories on a mount to which the kernel sends no opens: without a request the second time,
// and with what is new.
func TestNoOpenList(t *testing.T) {
	store, calls := counted(memfs.New(memfs.Options{}))
	const many = 2500
	must(t, store.Mkdir(t.Context(), "/d", 0o755))
	for i := range many {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/d/f%d", i)), nil)
	}
	var requests atomic.Int64
	const timeout = 300 * time.Millisecond
	dir, _ := mountCached(t, store, Options{OpenMode: NoOpen, Timeout: timeout, Observe: func(Request) { requests.Add(1) }})
	list := func(want int) {
		t.Helper()
		entries, err := os.ReadDir(dir + "/d")
		must(t, err)
		if len(entries) != want {
			t.Errorf("%d entries, want %d", len(entries), want)
		}
	}
	list(many)
	pfstest.WriteFile(t, store, "/d/new", nil)
	time.Sleep(2 * timeout)
	list(many + 1) // though the times of the directory are too close to each other
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { list(many + 1) })
	}
	group.Wait()
	must(t, pfs.SetAttr(t.Context(), store, "/d", pfs.AttrModTime, pfs.Attrs{ModTime: time.Now().Add(-time.Hour)}))
	time.Sleep(2 * timeout)
	list(many + 1)
	calls.Store(0)
	requests.Store(0)
	list(many + 1)
	if calls.Load() > 0 || requests.Load() > 0 {
		t.Errorf("a listing again took %d calls of the store, and %d requests", calls.Load(), requests.Load())
	}
}

// TestProtection reads a public tree in a mount that also changes files.
func TestProtection(t *testing.T) {
	store := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, store, "/public", "/home")
	content, changed := pfstest.Pattern(1, 5<<20), pfstest.Pattern(2, 4<<20)
	pfstest.WriteFile(t, store, "/public/f", content)
	pfstest.WriteFile(t, store, "/home/f", content)
	dir, c := mountCached(t, store, Options{OpenMode: Passthrough, Protection: protected, Timeout: 50 * time.Millisecond})
	want := func(name string, want []byte) {
		t.Helper()
		got, err := os.ReadFile(dir + name)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatalf("%s has wrong bytes", name)
		}
	}
	want("/public/f", content)
	want("/home/f", content)
	time.Sleep(300 * time.Millisecond) // until they are on the disk
	before := c.Status()
	f, err := os.Open(dir + "/public/f")
	must(t, err)
	defer f.Close()
	got := make([]byte, len(content))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Errorf("wrong bytes, %v", err)
	}
	if after := c.Status(); (entry{dir: dir}).status().OpenMode == Passthrough && (after.Hit != before.Hit || after.Missed != before.Missed) {
		t.Errorf("the kernel asked for bytes: %+v, then %+v", before, after)
	}

	// A file of one's own is not read past the mount: readers see each write at once, also in memory.
	own, err := os.Open(dir + "/home/f")
	must(t, err)
	defer own.Close()
	m, err := syscall.Mmap(int(own.Fd()), 0, 1<<20, syscall.PROT_READ, syscall.MAP_SHARED)
	must(t, err)
	if m[0] != content[0] {
		t.Error("wrong bytes in memory")
	}
	w, err := os.OpenFile(dir+"/home/f", os.O_RDWR, 0)
	must(t, err)
	_, err = w.WriteAt([]byte("mine"), 0)
	must(t, err)
	if _, err := own.ReadAt(got[:4], 0); err != nil || string(got[:4]) != "mine" || string(m[:4]) != "mine" {
		t.Errorf("after a write there is %q, in memory %q, %v", got[:4], m[:4], err)
	}
	must(t, w.Close())
	must(t, syscall.Munmap(m))

	// This account may change the file now, against the Protection.
	must(t, os.WriteFile(dir+"/public/f", changed, 0o644))
	want("/public/f", changed)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the open file has other bytes, %v", err)
	}
	f.Close()
	want("/public/f", changed)
}

// TestImmutable uses an immutable tree again after the timeout, without a request to the store.
func TestImmutable(t *testing.T) {
	below := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, below, "/public", "/public/set", "/public/set/1", "/public/set/1/d", "/public/set/2")
	for i := range 20 {
		pfstest.WriteFile(t, below, pfs.Path(fmt.Sprintf("/public/set/1/d/%d", i)), pfstest.Pattern(uint64(i), 5000))
	}
	pfstest.MustLink(t, below, "1", "/public/set/latest")
	for _, mode := range []string{Passthrough, NoOpen} {
		store, calls := counted(below)
		const timeout = 20 * time.Millisecond
		dir, _ := mountCached(t, store, Options{OpenMode: mode, ReadOnly: mode == NoOpen, Protection: protected, Timeout: timeout})
		set, err := os.Open(dir + "/public/set/1") // its own name is kept for the timeout only
		must(t, err)
		use := func() {
			t.Helper()
			in := fmt.Sprintf("/proc/self/fd/%d", set.Fd())
			names, err := allBelow(in + "/.")
			if n := strings.Count(fmt.Sprint(names), "\n"); err != nil || n != 21 {
				t.Fatalf("%d names, %v", n+1, err)
			}
			for i := range 20 {
				got, err := os.ReadFile(fmt.Sprintf("%s/d/%d", in, i))
				must(t, err)
				if !bytes.Equal(got, pfstest.Pattern(uint64(i), 5000)) {
					t.Errorf("wrong bytes in file %d", i)
				}
			}
			if _, err := os.Stat(in + "/d/none"); !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
		use()
		time.Sleep(3 * timeout)
		use() // the kernel keeps a listing that has been read to its end
		before := calls.Load()
		time.Sleep(3 * timeout)
		use()
		if n := calls.Load() - before; n != 0 {
			t.Errorf("%s: %d requests", mode, n)
		}
		must(t, set.Close())
		must(t, below.Remove(t.Context(), "/public/set/latest"))
		pfstest.MustLink(t, below, "2", "/public/set/latest")
		time.Sleep(3 * timeout)
		if target, err := os.Readlink(dir + "/public/set/latest"); err != nil || target != "2" {
			t.Errorf("latest leads to %q, %v", target, err)
		}
	}
}

// TestNested mounts a part of a mount again, in the mode for small files.
func TestNested(t *testing.T) {
	store := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, store, "/public", "/public/set", "/home")
	pfstest.WriteFile(t, store, "/public/set/f", []byte("small"))
	pfstest.WriteFile(t, store, "/home/f", []byte("mine"))
	outer := mount(t, store, Options{Source: "service"})
	dir := outer + "/public/set"
	inner := Options{Source: "service", Root: "/public/set", ReadOnly: true, OpenMode: NoOpen}
	for _, wrong := range []Options{
		{Source: "other", Root: inner.Root}, {Source: inner.Source, Root: "/public"}, {Source: inner.Source},
	} {
		_, err := Mount(t.Context(), store, dir, wrong)
		pfstest.WantKind(t, err, pfs.NotEmpty)
	}
	m, err := Mount(t.Context(), store, dir, inner)
	must(t, err)
	defer m.Close(t.Context())
	if got, err := os.ReadFile(dir + "/f"); err != nil || string(got) != "small" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(dir+"/f", nil, 0o644); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a write: %v", err)
	}
	must(t, os.WriteFile(outer+"/home/f", []byte("changed"), 0o644))
	pfstest.WantKind(t, Unmount(outer), pfs.Unavailable)
	must(t, Unmount(dir))
	if got, err := os.ReadFile(dir + "/f"); err != nil || string(got) != "small" {
		t.Errorf("without the inner mount: %q, %v", got, err)
	}
}

// TestSameTime changes a file on the store so that its size and time stay the same.
func TestSameTime(t *testing.T) {
	for _, opts := range []Options{{}, {ReadOnly: true}, {ReadOnly: true, OpenMode: Passthrough}, {ReadOnly: true, OpenMode: NoOpen}} {
		store := memfs.New(memfs.Options{})
		pfstest.WriteFile(t, store, "/f", []byte("old"))
		before := pfstest.MustStat(t, store, "/f")
		opts.Timeout = 20 * time.Millisecond
		var dir string
		if opts.OpenMode == "" {
			dir = mount(t, store, opts)
		} else {
			dir, _ = mountCached(t, store, opts)
		}
		for _, want := range []string{"old", "new"} {
			h, err := pfs.OpenHandle(t.Context(), store, "/f", pfs.OpenWrite, 0)
			must(t, err)
			_, err = h.WriteAt(t.Context(), []byte(want), 0)
			must(t, err)
			must(t, h.SetAttr(t.Context(), pfs.AttrModTime, pfs.Attrs{ModTime: before.ModTime}))
			must(t, h.Close(t.Context()))
			time.Sleep(3 * opts.Timeout)
			for range 2 {
				if got, err := os.ReadFile(dir + "/f"); err != nil || string(got) != want {
					t.Errorf("%+v: %q, %v; want %q", opts, got, err, want)
				}
			}
		}
	}
}

// openersEnv has what a process of TestManyOpenFiles opens: the first file and the directory.
const openersEnv = "PFS_TEST_OPENER"

// TestManyOpenFiles opens 2,000 files at once, and 100,000 in the long form: in ten processes, because a process may
// open too few on some machines. The server has no descriptors for these.
func TestManyOpenFiles(t *testing.T) {
	const processes, each = 10, 10_000
	if from, dir, ok := strings.Cut(os.Getenv(openersEnv), " "); ok {
		first, err := strconv.Atoi(from)
		must(t, err)
		openFiles(t, dir, first, each, func() {
			fmt.Println("open")
			_, _ = os.Stdin.Read(make([]byte, 1))
		})
		return
	}
	t.Run("short", func(t *testing.T) { manyOpenFiles(t, 2000) })
	t.Run("long", func(t *testing.T) {
		testbed.Long(t)
		store := memfs.New(memfs.Options{})
		for i := range processes * each {
			pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/%d", i)), pfstest.Pattern(uint64(i), 100))
		}
		dir := mount(t, store, Options{})
		var all []*exec.Cmd
		var inputs []io.Closer
		for i := range processes {
			c := exec.Command(os.Args[0], "-test.run=^TestManyOpenFiles$")
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", openersEnv, i*each, dir))
			in, err := c.StdinPipe()
			must(t, err)
			out, err := c.StdoutPipe()
			must(t, err)
			must(t, c.Start())
			all, inputs = append(all, c), append(inputs, in)
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
				t.Errorf("process %d: %q, %v", i, line, err)
			}
		}
		for i, c := range all {
			_ = inputs[i].Close()
			if err := c.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		}
	})
}

// openFiles opens n files, and reads them after all were opened.
func openFiles(t *testing.T, dir string, first, n int, opened func()) {
	files := make([]int, n)
	for i := range files {
		fd, err := syscall.Open(fmt.Sprintf("%s/%d", dir, first+i), syscall.O_RDONLY, 0)
		must(t, err)
		files[i] = fd
	}
	opened()
	got := make([]byte, 200)
	for i, fd := range files {
		if k, err := syscall.Pread(fd, got, 0); err != nil || !bytes.Equal(got[:k], pfstest.Pattern(uint64(first+i), 100)) {
			t.Fatalf("file %d: %d bytes, %v", first+i, k, err)
		}
		must(t, syscall.Close(fd))
	}
}

func manyOpenFiles(t *testing.T, n int) {
	store := memfs.New(memfs.Options{})
	for i := range n {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/%d", i)), pfstest.Pattern(uint64(i), 100))
	}
	dir, c := mountCached(t, store, Options{OpenMode: Passthrough, Timeout: time.Hour})
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if need := uint64(3*n + 100); limit.Cur < need { // this process has both ends
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: need, Max: max(need, limit.Max)}); err != nil {
			t.Skip(err)
		}
	}
	for range 2 { // from the store, and from the local disk
		openFiles(t, dir, 0, n, func() {})
	}
	for end := time.Now().Add(10 * time.Second); c.Status().Files > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // a file that is still being fetched would come back after its removal
	}
}
