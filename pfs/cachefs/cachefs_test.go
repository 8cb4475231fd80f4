package cachefs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const mib = 1 << 20

// newStore returns a store that counts requests, and has /f with 10 MiB.
func newStore(t testing.TB) (s *slowStore, data []byte) {
	s = &slowStore{FileSystem: memfs.New(memfs.Options{})}
	data = pfstest.Pattern(1, 10*mib)
	pfstest.WriteFile(t, s.FileSystem, "/f", data)
	return s, data
}

// open opens name by its current Info, without a request to the store.
func open(t testing.TB, c *FS, name pfs.Path) *File {
	t.Helper()
	info := pfstest.MustStat(t, c.below.(interface{ stored() pfs.FileSystem }).stored(), name)
	f, err := c.OpenInfo(t.Context(), name, info)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*File)
}

func (s *slowStore) stored() pfs.FileSystem { return s.FileSystem }

func wantRequests(t testing.TB, s *slowStore, want int64) {
	t.Helper()
	if got := s.requests.Swap(0); got != want {
		t.Errorf("%d requests to the store, want %d", got, want)
	}
}

func TestSecondReadIsLocal(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	f := open(t, c, "/f")
	defer f.Close()
	if f.Local() != nil {
		t.Error("a local file before the first read")
	}
	readAll(t, f, data)
	waitIdle(c)
	wantRequests(t, s, 4) // Open and three blocks
	readAll(t, f, data)
	g := open(t, c, "/f")
	readAll(t, g, data)
	local := g.Local()
	if local == nil {
		t.Fatal("the file is not whole")
	}
	got, err := io.ReadAll(io.NewSectionReader(local, 0, 1<<40))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("the local file has %d other bytes, %v", len(got), err)
	}
	g.Close()
	if g.Local() != nil {
		t.Error("a local file after Close")
	}
	wantRequests(t, s, 0)
}

// TestRestart reads in a second process what the first one cached, and in one after a restart of
// the system.
func TestRestart(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	f := open(t, c, "/f")
	buf := make([]byte, 5*mib)
	if _, err := f.ReadAt(t.Context(), buf, 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c.Close()
	dirs := c.opts.Dirs
	s.requests.Store(0)

	again := newCache(t, s, func(o *Options) { o.Dirs = dirs })
	f = open(t, again, "/f")
	if _, err := f.ReadAt(t.Context(), buf, 0); err != nil || !bytes.Equal(buf, data[:5*mib]) {
		t.Fatalf("wrong bytes, %v", err)
	}
	again.Close() // no more reading ahead
	f.Close()

	// One block is torn when the system ends.
	path := theFile(t, dirs[0])
	torn, err := os.OpenFile(path+dataSuffix, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn.WriteAt(make([]byte, 4096), 4*mib+8192)
	torn.Close()
	rebooted := newCache(t, s, func(o *Options) { o.Dirs = dirs })
	rebooted.boot = bootID{1}
	s.requests.Store(0)
	f = open(t, rebooted, "/f")
	readAll(t, f, data)
	waitIdle(rebooted)
	if f.Local() == nil {
		t.Error("the file is not whole")
	}
	if got := s.bytes.Load(); got > 10*mib+4*mib {
		t.Errorf("%d bytes were read from the store, want those of the torn block only", got)
	}
	f.Close()
}

// theFile returns the path of the only file of the cache, without suffix.
func theFile(t testing.TB, dir string) string {
	t.Helper()
	found := filesOf(t, dir)
	if len(found) != 1 {
		t.Fatalf("the cache has %q, want one file", found)
	}
	return found[0]
}

func filesOf(t testing.TB, dir string) (found []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "v*", "*", "*", "*"+dataSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		found = append(found, strings.TrimSuffix(n, dataSuffix))
	}
	return found
}

// TestChangedFile replaces a file while it is open: each open file shows one version.
func TestChangedFile(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	old := open(t, c, "/f")
	defer old.Close()
	part := make([]byte, mib)
	if _, err := old.ReadAt(t.Context(), part, 0); err != nil {
		t.Fatal(err)
	}
	info := old.Info()
	changed := pfstest.Pattern(9, len(data))
	pfstest.WriteFileWith(t, s.FileSystem, "/f", changed, pfs.CommitOptions{Size: info.Size, ModTime: info.ModTime})
	now := open(t, c, "/f")
	defer now.Close()
	readAll(t, now, changed)
	readAll(t, old, data) // the store keeps it while it is open

	// Nobody has the old version open.
	if f, err := c.OpenInfo(t.Context(), "/f", info); err != nil {
		t.Error(err)
	} else {
		readAll(t, f, data) // it is cached
		f.Close()
	}
	old.Close()
	waitIdle(c)
	for _, path := range filesOf(t, c.opts.Dirs[0]) {
		removeFiles(path)
	}
	f, err := c.OpenInfo(t.Context(), "/f", info)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.ReadAt(t.Context(), part, 0)
	pfstest.WantKind(t, err, pfs.Conflict)
}

func TestYoungFileIsNotCached(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, func(o *Options) { o.Settle = time.Hour })
	for range 2 {
		f, err := c.Open(t.Context(), "/f")
		if err != nil {
			t.Fatal(err)
		}
		readAll(t, f, data)
		f.Close()
	}
	if got := filesOf(t, c.opts.Dirs[0]); len(got) > 0 {
		t.Errorf("cached: %q", got)
	}
}

// TestStoreErrors checks that errors of the store are returned and not kept.
func TestStoreErrors(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	_, err := c.Open(t.Context(), "/missing")
	pfstest.WantKind(t, err, pfs.NotExist)
	pfstest.WriteFile(t, s.FileSystem, "/missing", data[:100])
	pfstest.WantFile(t, c, "/missing", data[:100])

	var fault error
	s.fault = func(context.Context, pfs.Path, []byte, int64) error { return fault }
	f := open(t, c, "/f")
	defer f.Close()
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Permission, pfs.Integrity, pfs.Unauthenticated} {
		fault = pfs.E("test", "/f", kind, nil)
		_, err := f.ReadAt(t.Context(), make([]byte, 10), 0)
		pfstest.WantKind(t, err, kind)
		waitIdle(c)
	}
	fault = nil
	readAll(t, f, data)
}

// waitIdle waits until nothing runs in the background.
func waitIdle(c *FS) {
	for busy := true; busy; time.Sleep(time.Millisecond) {
		busy = false
		c.mu.Lock()
		for _, e := range c.entries {
			busy = busy || int64(e.refs) > e.readers.Load()
		}
		c.mu.Unlock()
	}
}

// TestWrongBytes lets the store return wrong bytes: where it knows a digest, they are not delivered.
func TestWrongBytes(t *testing.T) {
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	small, large := pfstest.Pattern(1, 100_000), pfstest.Pattern(2, 9*mib)
	for name, data := range map[pfs.Path][]byte{"/small": small, "/large": large} {
		pfstest.WriteFileWith(t, s.FileSystem, name, data, pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes(data)})
	}
	for _, fsys := range []pfs.FileSystem{s, slowService{s}} {
		c := newCache(t, fsys, nil)
		var left atomic.Int64 // reads that return a wrong byte
		s.fault = func(_ context.Context, _ pfs.Path, p []byte, off int64) error {
			if off == 0 && len(p) > 0 && left.Add(-1) >= 0 {
				p[len(p)/2]++
			}
			return nil
		}
		left.Store(1)
		f := open(t, c, "/small")
		readAll(t, f, small) // it is read again
		f.Close()
		waitIdle(c)
		for _, path := range filesOf(t, c.opts.Dirs[0]) {
			removeFiles(path)
		}
		left.Store(1000)
		f = open(t, c, "/small")
		_, err := f.ReadAt(t.Context(), make([]byte, 10), 0)
		pfstest.WantKind(t, err, pfs.Integrity)
		f.Close()
		waitIdle(c)

		left.Store(1000) // a hedged request must not return the right bytes
		f = open(t, c, "/large")
		_, err = f.ReadAt(t.Context(), make([]byte, len(large)), 0)
		pfstest.WantKind(t, err, pfs.Integrity)
		if f.Local() != nil {
			t.Error("a file with wrong bytes is given to the kernel")
		}
		f.Close()
		waitIdle(c)
		left.Store(0)
		f = open(t, c, "/large")
		readAll(t, f, large)
		f.Close()
		f = open(t, c, "/large")
		readAll(t, f, large)
		waitIdle(c)
		if f.Local() == nil {
			t.Error("the file is not whole")
		}
		f.Close()
	}
}

// TestWrongBlockThatIsNotKept lets readers get a wrong block that cannot be written to the disk then. The
// reader of the last block, and one who reads the right block later, get an error.
func TestWrongBlockThatIsNotKept(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
		data := pfstest.Pattern(1, 3*blockSize)
		pfstest.WriteFileWith(t, s.FileSystem, "/f", data, pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes(data)})
		var wrong atomic.Bool
		s.fault = func(_ context.Context, _ pfs.Path, p []byte, off int64) error {
			if wrong.Load() {
				p[0]++
			}
			return nil
		}
		c := newCache(t, s, nil)
		f := open(t, c, "/f")
		defer f.Close()
		read := func(b int64) error { return f.e.readBlock(t.Context(), make([]byte, 10), b*blockSize, b) }

		right := f.e.disk.data
		unwritable, err := os.Open(right.Name())
		if err != nil {
			t.Fatal(err)
		}
		unwritable.Close()
		wrong.Store(true)
		f.e.disk.data = unwritable
		if err := read(0); err != nil {
			t.Errorf("the block that cannot be kept: %v", err)
		}
		waitIdle(c)
		wrong.Store(false)
		f.e.disk.data = right
		c.dirs[0].mu.Lock()
		c.dirs[0].again = time.Time{}
		c.dirs[0].mu.Unlock()

		if again {
			_, err = f.ReadAt(t.Context(), make([]byte, 10), 0)
		} else {
			if err := read(1); err != nil {
				t.Error(err)
			}
			err = read(2)
		}
		pfstest.WantKind(t, err, pfs.Integrity)
		waitIdle(c)
		g := open(t, c, "/f")
		readAll(t, g, data)
		g.Close()
	}
}

// TestPrivate checks the modes and names in a cache directory.
func TestPrivate(t *testing.T) {
	s, data := newStore(t)
	pfstest.MustMkdir(t, s.FileSystem, "/public")
	pfstest.WriteFile(t, s.FileSystem, "/public/f", data[:100])
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	public := func(name pfs.Path) bool { return name.Within("/public") }
	for _, user := range []string{"alice", "bob", "../etc", ""} {
		c := newCache(t, s, func(o *Options) { o.Dirs, o.User, o.Public = []string{dir}, user, public })
		for _, name := range []pfs.Path{"/f", "/public/f"} {
			f := open(t, c, name)
			readAll(t, f, pfstest.ReadFile(t, s.FileSystem, name))
			f.Close()
			waitIdle(c)
		}
	}
	base := filepath.Join(dir, fmt.Sprintf("%s-%d", layoutVersion, os.Getuid()))
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) != 5 || names[0] != "public" || names[1] != "user-alice" {
		t.Errorf("the cache has %q", names)
	}
	if n := len(filesOf(t, dir)); n != 5 {
		t.Errorf("%d files, want one public one and one for each user", n)
	}
	filepath.WalkDir(base, func(name string, e os.DirEntry, err error) error {
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
}

// TestRefusedDirectories checks that a directory that others can change is not used, and that one of
// another version is removed once nobody uses it.
func TestRefusedDirectories(t *testing.T) {
	s, _ := newStore(t)
	dir := t.TempDir()
	base := filepath.Join(dir, fmt.Sprintf("%s-%d", layoutVersion, os.Getuid()))
	refused := func() {
		t.Helper()
		_, err := New(s, Options{Dirs: []string{dir}})
		pfstest.WantKind(t, err, pfs.Permission)
		if !strings.Contains(err.Error(), base) {
			t.Errorf("%v does not name the directory", err)
		}
		os.RemoveAll(base)
	}
	os.Mkdir(base, 0o755)
	refused()
	os.Symlink(t.TempDir(), base)
	refused()
	if os.Getuid() == 0 {
		os.Mkdir(base, 0o700)
		os.Chown(base, 12345, 12345)
		refused()
	}
	_, err := New(s, Options{})
	pfstest.WantKind(t, err, pfs.Invalid)

	other := filepath.Join(dir, fmt.Sprintf("v0-%d", os.Getuid()))
	os.MkdirAll(filepath.Join(other, "x"), 0o700)
	f, err := os.Create(filepath.Join(other, lockName))
	if err != nil || lock(f, false) != nil {
		t.Fatal(err)
	}
	newCache(t, s, func(o *Options) { o.Dirs = []string{dir} }).Close()
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a directory in use: %v", err)
	}
	f.Close()
	newCache(t, s, func(o *Options) { o.Dirs = []string{dir} })
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("a directory of another version: %v", err)
	}
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) want(t *testing.T, n int, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Count(l.String(), "\n"); got != n || !strings.Contains(l.String(), text) {
		t.Errorf("the log has %d lines, want %d with %q:\n%s", got, n, text, l)
	}
	l.Reset()
}

// TestVanishedDirectory removes the cache directory while it is used.
func TestVanishedDirectory(t *testing.T) {
	var log lines
	s, data := newStore(t)
	c := newCache(t, s, func(o *Options) { o.Logger = log.logger() })
	os.RemoveAll(c.opts.Dirs[0])
	os.WriteFile(c.opts.Dirs[0], nil, 0o600) // so that it cannot be made again
	for range 3 {
		pfstest.WantFile(t, c, "/f", data)
	}
	log.want(t, 1, "cannot be used")
	os.Remove(c.opts.Dirs[0])
	c.dirs[0].mu.Lock()
	c.dirs[0].again = time.Time{}
	c.dirs[0].mu.Unlock()
	pfstest.WantFile(t, c, "/f", data)
	waitIdle(c)
	log.want(t, 1, "used again")
	if f := open(t, c, "/f"); f.Local() == nil {
		t.Error("nothing is cached")
	} else {
		f.Close()
	}
}

// TestEviction fills the cache beyond its size.
func TestEviction(t *testing.T) {
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	for i := range 8 {
		pfstest.WriteFile(t, s.FileSystem, pfs.Path(fmt.Sprintf("/f%d", i)), pfstest.Pattern(uint64(i), 4*mib))
	}
	c := newCache(t, s, func(o *Options) { o.Size = 17 * mib })
	d := c.dirs[0]
	var held *File
	for i := range 8 {
		name := pfs.Path(fmt.Sprintf("/f%d", i))
		f := open(t, c, name)
		readAll(t, f, pfstest.Pattern(uint64(i), 4*mib))
		waitIdle(c)
		path := f.e.disk.data.Name()
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		os.Chtimes(path, at, at)
		if i == 0 {
			held = f
		} else {
			f.Close()
		}
		waitIdle(c)
		d.evict(t.Context())
	}
	defer held.Close()
	readAll(t, held, pfstest.Pattern(0, 4*mib))
	if held.Local() == nil {
		t.Error("the open file is not whole")
	}
	left := filesOf(t, c.opts.Dirs[0])
	if len(left) > 4 || len(left) < 2 {
		t.Errorf("%d files are left", len(left))
	}
	s.requests.Store(0)
	for i, want := range map[int]int64{0: 0, 7: 0, 1: 2} {
		f := open(t, c, pfs.Path(fmt.Sprintf("/f%d", i)))
		readAll(t, f, pfstest.Pattern(uint64(i), 4*mib))
		f.Close()
		waitIdle(c)
		if got := s.requests.Swap(0); got != want {
			t.Errorf("file %d: %d requests, want %d", i, got, want)
		}
	}
	if st := c.Status(); st.Dirs[0].Evicted == 0 || st.Dirs[0].Used > st.Dirs[0].Limit+8*mib {
		t.Errorf("%+v", st)
	}
}

// TestCacheFullOfOpenFiles reads a file that is larger than the cache.
func TestCacheFullOfOpenFiles(t *testing.T) {
	var log lines
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	data := pfstest.Pattern(1, 40*mib)
	pfstest.WriteFile(t, s.FileSystem, "/f", data)
	c := newCache(t, s, func(o *Options) { o.Size, o.Logger = 10*mib, log.logger() })
	f := open(t, c, "/f")
	defer f.Close()
	for range 3 {
		readAll(t, f, data)
		waitIdle(c)
		c.dirs[0].evict(t.Context())
	}
	log.want(t, 1, "open files")
	if used := c.Status().Dirs[0].Used; used > 20*mib {
		t.Errorf("%d bytes are used", used)
	}
}

// TestScrub damages one of two files.
func TestScrub(t *testing.T) {
	s, data := newStore(t)
	pfstest.WriteFile(t, s.FileSystem, "/g", data[:5*mib])
	c := newCache(t, s, nil)
	for _, name := range []pfs.Path{"/f", "/g"} {
		pfstest.WantFile(t, c, name, pfstest.ReadFile(t, s.FileSystem, name))
	}
	d := c.dirs[0]
	waitIdle(c)
	if n := d.scrub(t.Context(), 0); n != 0 {
		t.Errorf("%d right files were removed", n)
	}
	waitIdle(c)
	files := filesOf(t, c.opts.Dirs[0])
	damaged, err := os.OpenFile(files[0]+dataSuffix, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	damaged.WriteAt([]byte("damage"), 4*mib+100)
	damaged.Close()
	if n := d.scrub(t.Context(), 0); n != 1 {
		t.Errorf("%d files were removed, want 1", n)
	}
	for _, name := range []pfs.Path{"/f", "/g"} {
		pfstest.WantFile(t, c, name, pfstest.ReadFile(t, s.FileSystem, name))
	}
}

// TestScrubAfterClockSetBack: the cache is checked every day, and knows what was used last, although the disk has times that are
// 26 years ahead.
func TestScrubAfterClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t)
		c := newCache(t, s, nil)
		defer c.Close()
		read := func() string {
			pfstest.WantFile(t, c, "/f", pfstest.ReadFile(t, s.FileSystem, "/f"))
			waitIdle(c)
			return filesOf(t, c.opts.Dirs[0])[0] + dataSuffix
		}
		read()
		name := read()
		if info, err := os.Stat(name); err != nil || time.Since(info.ModTime()).Abs() > time.Minute {
			t.Errorf("last used at %v, %v", info.ModTime(), err)
		}
		time.Sleep(scrubEvery) // in which it is checked for the first time
		damaged, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		damaged.WriteAt([]byte("damage"), 100)
		damaged.Close()
		time.Sleep(scrubEvery + 2*time.Hour)
		if left := filesOf(t, c.opts.Dirs[0]); len(left) > 0 {
			t.Errorf("a damaged file is left after a day: %q", left)
		}
	})
}

// TestSharedFetch lets many readers of one block wait for one request.
func TestSharedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, data := newStore(t)
		s.Network = &testbed.Network{Latency: time.Second}
		c := newCache(t, s, nil)
		defer c.Close()
		var work sync.WaitGroup
		for i := range 50 {
			work.Go(func() {
				f := open(t, c, "/f")
				defer f.Close()
				buf := make([]byte, 1000)
				if _, err := f.ReadAt(t.Context(), buf, 4*mib+int64(i)*1000); err != nil || !bytes.Equal(buf, data[4*mib+i*1000:][:1000]) {
					t.Errorf("wrong bytes, %v", err)
				}
			})
		}
		work.Wait()
		wantRequests(t, s, 2) // Open and one block
	})
}

// TestReaderGivesUp cancels one of two readers of a block.
func TestReaderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, data := newStore(t)
		s.Network = &testbed.Network{Latency: 10 * time.Second}
		c := newCache(t, s, nil)
		defer c.Close()
		f := open(t, c, "/f")
		defer f.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := f.ReadAt(ctx, make([]byte, 10), 0)
		pfstest.WantKind(t, err, pfs.Canceled)
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v", took)
		}
		readAll(t, f, data)
	})
}

// TestStalledRequest lets the store stall one of many requests: a second one is sent.
func TestStalledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{FileSystem: memfs.New(memfs.Options{}), Network: &testbed.Network{Latency: 20 * time.Millisecond}}
		data := pfstest.Pattern(1, 128*mib)
		pfstest.WriteFile(t, s.FileSystem, "/f", data)
		var stalled atomic.Bool
		s.fault = func(ctx context.Context, _ pfs.Path, _ []byte, off int64) error {
			if off == 120*mib && !stalled.Swap(true) {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		c := newCache(t, s, nil)
		defer c.Close()
		f := open(t, c, "/f")
		defer f.Close()
		start := time.Now()
		readAll(t, f, data)
		if took := time.Since(start); took > time.Second || !stalled.Load() {
			t.Errorf("it took %v", took)
		}
		if n := c.Status().Hedged; n != 1 {
			t.Errorf("%d requests were sent again, want 1", n)
		}
	})
}

// TestReadingAhead counts requests: in order, the window grows to the limit; at random, it stays
// closed.
func TestReadingAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{FileSystem: memfs.New(memfs.Options{}), Network: &testbed.Network{Latency: 20 * time.Millisecond}}
		const size = 1024 * mib
		pfstest.WriteFile(t, s.FileSystem, "/f", nil)
		if err := pfs.SetAttr(t.Context(), s.FileSystem, "/f", pfs.AttrSize, pfs.Attrs{Size: size}); err != nil {
			t.Fatal(err)
		}
		c := newCache(t, s, nil)
		defer c.Close()
		f := open(t, c, "/f")
		start := time.Now()
		buf := make([]byte, mib)
		for off := int64(0); off < size/4; off += mib {
			if _, err := f.ReadAt(t.Context(), buf, off); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("64 blocks took %v", took) // 64 requests in turn take 1.28 s
		}
		if n := s.most.Load(); n > 32 || n < 20 {
			t.Errorf("%d requests at a time", n)
		}
		f.Close()
		synctest.Wait()
		s.requests.Store(0)
		f = open(t, c, "/f")
		defer f.Close()
		for _, b := range []int64{200, 240, 210, 255, 220, 248} {
			if _, err := f.ReadAt(t.Context(), buf[:4096], b*blockSize); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.requests.Load(); n > 7 {
			t.Errorf("%d requests for 6 blocks", n)
		}
	})
}

// TestDemandComesFirst reads one block of a second file while the first one is read ahead.
// TestReadAheadIsInMemory: blocks that were read ahead come from memory, and it is free again when they are read, or their
// file is closed.
func TestReadAheadIsInMemory(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	memory := func() (left int64, kept int) {
		c.queue.mu.Lock()
		defer c.queue.mu.Unlock()
		return c.queue.memory, c.queue.kept.Len()
	}
	f := open(t, c, "/f")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(pfs.ReadFull(t.Context(), f, make([]byte, 10), 0))
	waitIdle(c)
	if _, kept := memory(); kept != 2 {
		t.Fatalf("%d blocks are in memory, want 2", kept)
	}
	disk, err := os.OpenFile(f.Local().Name(), os.O_WRONLY, 0)
	must(err)
	defer disk.Close()
	_, err = disk.WriteAt(make([]byte, blockSize), blockSize) // as if the disk were slow to give it back
	must(err)
	got := make([]byte, blockSize)
	for _, part := range []int{3, 1, 0, 2} { // as several requests of the kernel may come
		from := part * blockSize / 4
		must(pfs.ReadFull(t.Context(), f, got[from:from+blockSize/4], blockSize+int64(from)))
	}
	if !bytes.Equal(got, data[blockSize:2*blockSize]) {
		t.Error("a block that was read ahead does not come from memory")
	}
	if _, kept := memory(); kept != 1 {
		t.Errorf("%d blocks are in memory after one of two was read", kept)
	}
	f.Close()
	if left, kept := memory(); left != c.opts.Memory || kept != 0 {
		t.Errorf("%d of %d bytes are left, %d blocks are in memory", left, c.opts.Memory, kept)
	}
}

// TestLastBlockNeedsNoDisk: readers get the last block of a file before the others are on the disk, if the file is right.
func TestLastBlockNeedsNoDisk(t *testing.T) {
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	data := pfstest.Pattern(1, 3*blockSize)
	pfstest.WriteFileWith(t, s.FileSystem, "/f", data, pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes(data)})
	c := newCache(t, s, nil)
	f := open(t, c, "/f")
	defer f.Close()
	f.e.learn(pfstest.MustStat(t, s.FileSystem, "/f"))
	var fetches []*fetch
	for b := range int64(3) {
		got, run := f.e.claim(b, demand, func() *ticket { return c.queue.enter(demand, blockSize) })
		if !run {
			t.Fatal("the block is there")
		}
		fetches = append(fetches, got)
	}
	for b, got := range fetches {
		if b == 2 {
			got.sum = digest.Leaf([]byte("other bytes"))
			if f.e.mayPublish(got, 2) {
				t.Error("a block that makes the file wrong")
			}
		}
		got.sum = digest.Leaf(data[b*blockSize:][:blockSize])
		if !f.e.mayPublish(got, int64(b)) {
			t.Errorf("block %d waits for the disk", b)
		}
	}
	for b, got := range fetches {
		c.queue.leave(got.ticket)
		f.e.finished(got, int64(b), errAgain)
	}
}

func TestDemandComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{FileSystem: memfs.New(memfs.Options{}), Network: &testbed.Network{Latency: time.Second}}
		for _, name := range []pfs.Path{"/a", "/b"} {
			pfstest.WriteFile(t, s.FileSystem, name, pfstest.Pattern(1, 64*mib))
		}
		c := newCache(t, s, func(o *Options) { o.Requests = 2 })
		defer c.Close()
		a, b := open(t, c, "/a"), open(t, c, "/b")
		defer a.Close()
		defer b.Close()
		buf := make([]byte, 100)
		for off := int64(0); off < 16*mib; off += blockSize { // the window is open
			if _, err := a.ReadAt(t.Context(), buf, off); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		if _, err := b.ReadAt(t.Context(), buf, 4*blockSize); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 3*time.Second { // a place, Open and the block
			t.Errorf("it took %v", took)
		}
	})
}

// TestSiblings opens small files in the order of their directory, and by name.
func TestSiblings(t *testing.T) {
	for _, byName := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{FileSystem: memfs.New(memfs.Options{}), Network: &testbed.Network{Latency: 20 * time.Millisecond}}
			for i := range 400 {
				k := i
				if byName {
					k = i * 171 % 400 // the store lists them in another order
				}
				pfstest.WriteFile(t, s.FileSystem, pfs.Path(fmt.Sprintf("/f%03d", k)), pfstest.Pattern(uint64(k), 1000+k))
			}
			c := newCache(t, slowService{s}, nil)
			defer c.Close()
			start := time.Now()
			for i := range 400 {
				f := open(t, c, pfs.Path(fmt.Sprintf("/f%03d", i)))
				readAll(t, f, pfstest.Pattern(uint64(i), 1000+i))
				f.Close()
			}
			if took := time.Since(start); took > 500*time.Millisecond {
				t.Errorf("400 files took %v", took) // 8 s one by one
			}
		})
	}
}

// TestSharedDirectory lets several caches, as processes of a node have, use one directory at once
// while files are evicted from it.
func TestSharedDirectory(t *testing.T) {
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	const files = 12
	for i := range files {
		pfstest.WriteFile(t, s.FileSystem, pfs.Path(fmt.Sprintf("/f%d", i)), pfstest.Pattern(uint64(i), 6*mib+i))
	}
	dir := t.TempDir()
	var work sync.WaitGroup
	for k := range 3 {
		c := newCache(t, s, func(o *Options) { o.Dirs, o.Size = []string{dir}, 30*mib })
		work.Go(func() {
			for i := range 3 * files {
				n := (i*7 + k*5) % files
				f := open(t, c, pfs.Path(fmt.Sprintf("/f%d", n)))
				readAll(t, f, pfstest.Pattern(uint64(n), 6*mib+n))
				if l := f.Local(); l != nil {
					got, err := io.ReadAll(io.NewSectionReader(l, 0, 1<<40))
					if err != nil || !bytes.Equal(got, pfstest.Pattern(uint64(n), 6*mib+n)) {
						t.Errorf("the local file of %d has other bytes, %v", n, err)
					}
				}
				f.Close()
				if i%5 == 0 {
					c.dirs[0].evict(t.Context())
				}
			}
		})
	}
	work.Wait()
}

func TestClosedFile(t *testing.T) {
	s, _ := newStore(t)
	c := newCache(t, s, nil)
	f := open(t, c, "/f")
	f.Close()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	waitIdle(c)
	_, err := f.ReadAt(t.Context(), nil, 0)
	if !errors.Is(err, pfs.Closed) {
		t.Error(err)
	}
	if n := len(c.entries); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}
