package transfer

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// vast is a tree of dirs directories with files files each, which takes no memory:
// every file has the content "content".
type vast struct {
	pfs.FileSystem // for methods that are never called
	dirs, files    int
	wrote          atomic.Int64
}

const vastContent = "content"

var vastDigest = digest.Bytes([]byte(vastContent))

func vastInfo(name string) pfs.Info {
	return pfs.Info{Name: name, Size: int64(len(vastContent)), Mode: 0o644, ModTime: past, Version: "1", Digest: vastDigest}
}

func (v *vast) Stat(_ context.Context, name pfs.Path) (pfs.Info, error) {
	if len(name) < 10 {
		return pfs.Info{Name: name.Base(), Mode: fs.ModeDir | 0o755, ModTime: past}, nil
	}
	return vastInfo(name.Base()), nil
}

func (v *vast) List(_ context.Context, dir pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	n, format := v.files, "some_long_name_%08d"
	if dir == pfs.Root {
		n, format = v.dirs, "d%d"
	}
	first, _ := strconv.Atoi(opts.Token)
	last := min(n, first+opts.Limit)
	for i := first; i < last; i++ {
		info := vastInfo(fmt.Sprintf(format, i))
		if dir == pfs.Root {
			info.Mode, info.Size = fs.ModeDir|0o755, 0
		}
		page.Entries = append(page.Entries, info)
	}
	if last < n {
		page.Next = strconv.Itoa(last)
	}
	return page, nil
}

func (v *vast) Open(_ context.Context, name pfs.Path) (pfs.File, error) { return vastFile{name}, nil }

type vastFile struct{ name pfs.Path }

func (f vastFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	n := copy(p, vastContent[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
func (f vastFile) Info() pfs.Info { return vastInfo(f.name.Base()) }
func (f vastFile) Close() error   { return nil }

// WriteBatch throws everything away.
func (v *vast) WriteBatch(_ context.Context, entries []pfs.BatchEntry) []error {
	for _, e := range entries {
		if !e.Mode.IsDir() {
			v.wrote.Add(1)
		}
	}
	return make([]error, len(entries))
}

// TestMemoryIsBounded copies and compares trees of 100,000 files, in one directory
// and in many.
func TestMemoryIsBounded(t *testing.T) {
	if !testbed.InOwnProcess(t) {
		return
	}
	const limit = 80 << 20
	debug.SetGCPercent(10) // so that the heap holds little but what is in use
	for _, shape := range []struct{ dirs, files int }{{1, 100_000}, {100, 200}} {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprint(shape, there), func(t *testing.T) {
				a := &vast{dirs: shape.dirs, files: shape.files}
				b := &vast{dirs: shape.dirs, files: shape.files}
				if !there {
					b.dirs, b.files = 0, 0
				}
				runtime.GC()
				var before, now runtime.MemStats
				runtime.ReadMemStats(&before)
				var most uint64
				events := 0
				j := newJob(t, Options{Events: func(Event) {
					if events++; events%5000 == 0 {
						runtime.ReadMemStats(&now)
						most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
					}
				}, Delete: true})
				must(t, j.Copy(context.Background(), End{a, "/"}, End{b, "/"}))
				total := int64(shape.dirs) * int64(shape.files)
				if s := j.Stats(); s.Files != total || there != (s.Skipped == total) || s.Deleted != 0 {
					t.Errorf("got %+v", s)
				}
				if got := b.wrote.Load(); there != (got == 0) {
					t.Errorf("%d files were written", got)
				}
				if most > limit {
					t.Errorf("%d MiB of heap, want at most %d", most>>20, limit>>20)
				}
				t.Logf("%d MiB of heap", most>>20)
			})
		}
	}
}

// TestWindows compares directories larger than a window, with and without memory for a table of the
// rest.
func TestWindows(t *testing.T) {
	for _, tt := range []struct{ room, lists int }{{0, 13}, {100, 13}, {10_000, 4}} {
		t.Run(fmt.Sprint(tt.room), func(t *testing.T) { testWindows(t, tt.room, tt.lists) })
	}
}

func testWindows(t *testing.T, room, lists int) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/")
	plant(t, b, "/d/")
	const n = 5000
	for i := range n {
		put(t, a.FS, pfs.Path(fmt.Sprintf("/s/%d", i)), nil)
		if i%2 == 0 {
			put(t, b.FS, pfs.Path(fmt.Sprintf("/d/%d", n-2-i)), []byte(fmt.Sprint(i)))
		}
		if i%5 == 0 {
			put(t, b.FS, pfs.Path(fmt.Sprintf("/d/x%d", i)), nil)
		}
	}
	j := newJob(t, Options{})
	b.lists.Store(0)
	tables := semaphore.NewWeighted(int64(room))
	m := &dirMatcher{
		a: &listing{j: j, end: End{a, "/s"}, name: "/s", digests: true}, b: &End{b, "/d"}, names: semaphore.NewWeighted(2500), room: tables,
	}
	seen, existing, count := 0, 0, 0
	for {
		entries, err := m.next(context.Background())
		must(t, err)
		if entries == nil {
			break
		}
		if len(entries) > 2500 {
			t.Errorf("a window of %d", len(entries))
		}
		count++
		for _, e := range entries {
			seen++
			if e.exists {
				existing++
				want, err := b.Stat(t.Context(), pfs.Path("/d").Join(e.info.Name))
				must(t, err)
				// A table contains only the fields that a comparison needs.
				if e.old.Size != want.Size || e.old.Mode != want.Mode || !e.old.ModTime.Equal(want.ModTime) || e.old.Target != want.Target || e.old.Digest != want.Digest {
					t.Errorf("%s was paired with %+v, want %+v", e.info.Name, e.old, want)
				}
			}
		}
		m.drop()
	}
	m.end()
	if seen != n || existing != n/2 || count < 2 {
		t.Errorf("%d seen, %d existing, %d windows", seen, existing, count)
	}
	if !tables.TryAcquire(int64(room)) {
		t.Error("room of a table was not given back")
	}
	if got := int(b.lists.Load()); got != lists {
		t.Errorf("%d pages of the second directory were listed, want %d", got, lists)
	}
	extra := 0
	must(t, j.extras(context.Background(), End{a, "/s"}, End{b, "/d"}, func(pfs.Info) error { extra++; return nil }, nil))
	if extra != n/5 {
		t.Errorf("%d extra, want %d", extra, n/5)
	}
}

// forgetful no longer honours its page tokens after a while.
type forgetful struct {
	pfs.FileSystem
	lists int
}

func (f *forgetful) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if f.lists++; f.lists == 4 || f.lists == 9 {
		return pfs.Page{}, pfs.E("test", dir, pfs.Conflict, nil)
	}
	opts.Limit = 700 // a page size of its own, not the requested one
	return f.FileSystem.List(ctx, dir, opts)
}

func TestListingGoesOn(t *testing.T) {
	a := memfs.New(memfs.Options{})
	for i := range 5000 {
		put(t, a, pfs.Path(fmt.Sprintf("/%d", i)), nil)
	}
	l := listing{j: newJob(t, Options{}), end: End{&forgetful{FileSystem: a}, "/"}, name: "/"}
	seen := map[string]bool{}
	for {
		page, more, err := l.next(context.Background())
		must(t, err)
		if !more {
			break
		}
		for _, e := range page.Entries {
			if seen[e.Name] {
				t.Fatalf("%s comes twice", e.Name)
			}
			seen[e.Name] = true
		}
	}
	if len(seen) != 5000 {
		t.Errorf("%d names, want 5000", len(seen))
	}
}

func TestPool(t *testing.T) {
	p := NewPool(5 * chunk)
	var held [][]byte
	for range 5 {
		b, ok := p.try()
		if !ok || len(b) != chunk {
			t.Fatalf("got %d bytes, %v", len(b), ok)
		}
		held = append(held, b)
	}
	if _, ok := p.try(); ok {
		t.Error("a sixth buffer")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.get(ctx); pfs.KindOf(err) != pfs.Canceled {
		t.Errorf("got %v", err)
	}
	p.put(held[0][:7])
	if b, ok := p.try(); !ok || len(b) != chunk {
		t.Errorf("got %d bytes, %v", len(b), ok)
	}
}

// try returns a buffer if there is one now.
func (p *Pool) try() ([]byte, bool) {
	if !p.tryReserve() {
		return nil, false
	}
	return p.buffer(), true
}
