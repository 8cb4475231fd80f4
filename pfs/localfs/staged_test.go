package localfs

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const id = "0123456789abcdef"

// TestCrash leaves an upload as a dead process does, and resumes it from another instance, which
// finds out which bytes are staged.
func TestCrash(t *testing.T) {
	f, dir := openStore(t, Options{})
	data := pfstest.Pattern(1, 2*pfs.ChunkSize+100)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id, Size: int64(len(data))})
	must(t, err)
	_, err = w.WriteAt(t.Context(), data[pfs.ChunkSize:2*pfs.ChunkSize], pfs.ChunkSize)
	must(t, err)

	g := openAt(t, dir, Options{})
	w2, err := g.Create(t.Context(), "/f", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	defer w2.Close(t.Context())
	leaves, err := w2.(pfs.LeafDigester).LeafDigests(t.Context(), int64(len(data)), 0, 3)
	must(t, err)
	if len(leaves) != 2 || leaves[1] != digest.Leaf(data[pfs.ChunkSize:2*pfs.ChunkSize]) || leaves[0] == digest.Leaf(data[:pfs.ChunkSize]) {
		t.Errorf("leaves = %x", leaves)
	}
	for _, off := range []int{0, 2 * pfs.ChunkSize} {
		_, err := w2.WriteAt(t.Context(), data[off:min(len(data), off+pfs.ChunkSize)], int64(off))
		must(t, err)
	}
	_, err = w2.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, g, "/f", data)

	// The first handle becomes active again: it must not change the published file.
	_, err = w.WriteAt(t.Context(), []byte("late"), 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	must(t, w.Close(t.Context()))
	pfstest.WantFile(t, g, "/f", data)
}

// TestTwoHandles writes through two handles of one ID while one of them commits. The published file
// must not change any more, not even through a write that was in progress.
func TestTwoHandles(t *testing.T) {
	for range 20 {
		f, dir := openStore(t, Options{NoSync: true})
		g := openAt(t, dir, Options{NoSync: true})
		w := stage(t, f, "/f", pfs.CreateOptions{ID: id}, make([]byte, pfs.ChunkSize))
		other, err := g.Create(t.Context(), "/f", pfs.CreateOptions{ID: id})
		must(t, err)
		defer other.Close(t.Context())
		started := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { writeUntilGone(t, other, started) })
		<-started
		_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: pfs.ChunkSize})
		must(t, err)
		published := pfstest.ReadFile(t, f, "/f")
		wg.Wait()
		pfstest.WantFile(t, f, "/f", published)
	}
}

// writeUntilGone writes changing bytes until the upload is gone.
func writeUntilGone(t *testing.T, w pfs.Staged, started chan<- struct{}) {
	for i := range 100_000 {
		if i == 1 {
			close(started)
		}
		if _, err := w.WriteAt(t.Context(), bytes.Repeat([]byte{byte(i)}, pfs.ChunkSize), 0); err != nil {
			wantKind(t, err, pfs.Conflict)
			return
		}
	}
	t.Error("a handle whose upload was committed by another one still writes")
}

// wantKind is pfstest.WantKind for goroutines other than the test's.
func wantKind(t *testing.T, err error, kind pfs.Kind) {
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
	}
}

// TestStaleHandle uses an ID that was committed and then used for a new upload.
func TestStaleHandle(t *testing.T) {
	f, _ := openStore(t, Options{})
	stale := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("first"))
	w := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("first"))
	_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: 5})
	must(t, err)
	again := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("second"))
	_, err = stale.WriteAt(t.Context(), []byte("x"), 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	must(t, stale.Close(t.Context()))
	_, err = again.Commit(t.Context(), pfs.CommitOptions{Size: 6})
	must(t, err)
	pfstest.WantFile(t, f, "/f", []byte("second"))
}

func TestDirectoryMovedUnderStagedWrite(t *testing.T) {
	f, _ := openStore(t, Options{})
	must(t, f.Mkdir(t.Context(), "/a", 0o755))
	w := stage(t, f, "/a/f", pfs.CreateOptions{}, []byte("x"))
	must(t, f.Rename(t.Context(), "/a", "/b"))
	must(t, f.Mkdir(t.Context(), "/a", 0o755))
	_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: 1})
	pfstest.WantKind(t, err, pfs.Conflict)
	pfstest.WantNames(t, f, "/a")
	pfstest.WantNames(t, f, "/b")
}

func TestStagedFileIsPrivate(t *testing.T) {
	f, dir := openStore(t, Options{})
	stage(t, f, "/f", pfs.CreateOptions{}, []byte("x"))
	names := temps(t, dir)
	if len(names) != 1 || len(names[0]) > 100 {
		t.Fatalf("temporaries %q, want one", names)
	}
	info, err := os.Stat(filepath.Join(dir, names[0]))
	must(t, err)
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode = %v, want it private", info.Mode())
	}
}

// TestPlantedTemporary puts another file in the place of an upload.
func TestPlantedTemporary(t *testing.T) {
	f, dir := openStore(t, Options{})
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("outside"), 0o600))
	planted := filepath.Join(dir, digest.StagedName("f", id))
	for what, plant := range map[string]func() error{
		"link":      func() error { return os.Symlink(outside, planted) },
		"hard link": func() error { return os.Link(outside, planted) },
		"directory": func() error { return os.Mkdir(planted, 0o755) },
	} {
		must(t, plant())
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id})
		if err == nil {
			w.Close(t.Context())
			t.Errorf("a %s was taken for an upload", what)
		}
		must(t, os.Remove(planted))
	}
	if got, _ := os.ReadFile(outside); string(got) != "outside" {
		t.Errorf("outside is now %q", got)
	}
}

// TestCommitWithoutAttributes repeats a Commit where no digest could be stored.
func TestCommitWithoutAttributes(t *testing.T) {
	f, _ := openStore(t, Options{})
	f.attrs = noAttributes{}
	data := pfstest.Pattern(1, 1000)
	at := time.Unix(1e9, 0)
	commit := pfs.CommitOptions{Size: 1000, Digest: digest.Bytes(data), ModTime: at}
	_, err := stage(t, f, "/f", pfs.CreateOptions{ID: id}, data).Commit(t.Context(), commit)
	must(t, err)
	for name, test := range map[string]struct {
		opts pfs.CommitOptions
		ok   bool
	}{
		"same digest":            {pfs.CommitOptions{Size: 1000, Digest: digest.Bytes(data)}, true},
		"same time":              {pfs.CommitOptions{Size: 1000, ModTime: at}, true},
		"other digest same time": {pfs.CommitOptions{Size: 1000, Digest: digest.Bytes(data[1:]), ModTime: at}, false},
		"other size":             {pfs.CommitOptions{Size: 999, Digest: digest.Bytes(data)}, false},
		"nothing to go by":       {pfs.CommitOptions{Size: 1000}, false},
	} {
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id})
		must(t, err)
		if _, err = w.Commit(t.Context(), test.opts); (err == nil) != test.ok {
			t.Errorf("%s: error %v", name, err)
		}
		must(t, w.Close(t.Context()))
	}
	pfstest.WantFile(t, f, "/f", data)
}

func TestSweep(t *testing.T) {
	const day = 24 * time.Hour
	f, w := watchStore(t, openTop)
	outside := t.TempDir()
	must(t, f.Mkdir(t.Context(), "/d", 0o755))
	must(t, f.Symlink(t.Context(), outside, "/d/link"))
	must(t, os.WriteFile(filepath.Join(outside, digest.StagedName("x", id)), nil, 0o600))
	must(t, stage(t, f, "/d/old", pfs.CreateOptions{ID: id}, make([]byte, 1000)).Suspend(t.Context()))
	must(t, stage(t, f, "/d/new", pfs.CreateOptions{ID: id}, make([]byte, 1000)).Suspend(t.Context()))
	top, err := f.openDir("")
	must(t, err)
	removed := pfs.RemovedName()
	left := enterNew(t, enterNew(t, top, removed), "a")
	plant(t, left, "file", 10)
	must(t, left.Close())
	w.age = map[string]time.Duration{digest.StagedName("old", id): 2 * day, removed: 2 * day, digest.StagedName("x", id): 2 * day}

	n, bytes, err := f.Sweep(t.Context(), "/", day)
	if n != 1 || bytes != 1000 || err != nil {
		t.Errorf("Sweep = %d, %d, %v, want 1, 1000", n, bytes, err)
	}
	names := map[string]string{"": "d", "d": "link " + digest.StagedName("new", id)}
	for rel, want := range names {
		if got := namesIn(t, f, rel); got != want {
			t.Errorf("left in %q are %q, want %q", rel, got, want)
		}
	}
	if len(temps(t, outside)) != 1 {
		t.Error("a link was followed")
	}
}

// namesIn returns all names in the directory rel, sorted.
func namesIn(t *testing.T, f *FS, rel string) string {
	t.Helper()
	d, err := f.openDir(rel)
	must(t, err)
	defer d.Close()
	names, _, err := d.entries("", pfs.MaxPage)
	must(t, err)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	return strings.Join(names, " ")
}

// TestSweepDuringCommit sweeps while a temporary already has the time of the file, which is long
// ago.
func TestSweepDuringCommit(t *testing.T) {
	f, w := watchStore(t, openTop)
	staged := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("content"))
	w.rename = func(name, newName string) error {
		n, _, err := f.Sweep(t.Context(), "/", 24*time.Hour)
		if n != 0 || err != nil {
			t.Errorf("Sweep = %d, %v, want nothing to sweep", n, err)
		}
		return nil
	}
	_, err := staged.Commit(t.Context(), pfs.CommitOptions{Size: 7, ModTime: time.Unix(1e9, 0)})
	must(t, err)
	pfstest.WantFile(t, f, "/f", []byte("content"))
}

// TestCommitRefusedByDisk uses a disk without space for one more name. The staged bytes stay, and
// the upload resumes when there is space.
func TestCommitRefusedByDisk(t *testing.T) {
	f, w := watchStore(t, openTop)
	staged := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("content"))
	w.rename = func(string, string) error { return syscall.ENOSPC }
	_, err := staged.Commit(t.Context(), pfs.CommitOptions{Size: 7, Mode: 0o444})
	pfstest.WantKind(t, err, pfs.NoSpace)
	must(t, staged.Suspend(t.Context()))
	if got := namesIn(t, f, ""); got != digest.StagedName("f", id) {
		t.Errorf("left are %q, want the upload", got)
	}
	w.rename = nil
	staged, err = f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	_, err = staged.Commit(t.Context(), pfs.CommitOptions{Size: 7, Mode: 0o444})
	must(t, err)
	must(t, staged.Close(t.Context()))
	pfstest.WantFile(t, f, "/f", []byte("content"))
}

// TestLostBytes makes a sync fail once, as a disk does that lost bytes. There must be no second
// sync, whose success would mean nothing, and no file made from the remaining bytes.
func TestLostBytes(t *testing.T) {
	ctx := t.Context()
	commit := func(w pfs.Staged) error {
		_, err := w.Commit(ctx, pfs.CommitOptions{Size: 7})
		return err
	}
	for name, first := range map[string]func(w pfs.Staged) error{
		"Sync":   func(w pfs.Staged) error { return w.Sync(ctx) },
		"Commit": commit,
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := openStore(t, Options{})
			w := stage(t, f, "/f", pfs.CreateOptions{}, []byte("content"))
			syncs := 0
			f.sync = func(*os.File) error {
				if syncs++; syncs == 1 {
					return &os.PathError{Op: "sync", Path: dir, Err: syscall.EIO}
				}
				return nil
			}
			err := first(w)
			if pfs.KindOf(err) != pfs.Other || !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want that of the disk", err)
			}
			_, writing := w.WriteAt(ctx, []byte("x"), 0)
			for _, again := range []error{w.Sync(ctx), commit(w), writing} {
				if !errors.Is(again, syscall.EIO) {
					t.Errorf("later error %v, want the same", again)
				}
			}
			if syncs != 1 {
				t.Errorf("%d syncs, want no second one", syncs)
			}
			if _, err := statFile(w.(*staged).file); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the file of lost bytes is still open: %v", err)
			}
			must(t, w.Close(ctx))
			if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// TestLostBytesTogether begins a sync while another one fails. The disk reports the lost bytes to
// one of them; both must fail.
func TestLostBytesTogether(t *testing.T) {
	f, _ := openStore(t, Options{})
	w := stage(t, f, "/f", pfs.CreateOptions{}, []byte("content")).(*staged)
	second := make(chan error, 1)
	var syncs atomic.Int64
	f.sync = func(*os.File) error {
		if syncs.Add(1) > 1 {
			return nil
		}
		go func() { second <- w.syncFile("") }()
		return syscall.EIO
	}
	for _, err := range []error{w.Sync(t.Context()), <-second} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("error %v of a sync whose bytes are lost", err)
		}
	}
}

// TestCommittedIsClosed checks that a handle does not keep the bytes of its published file, which
// may be removed before the handle ends.
func TestCommittedIsClosed(t *testing.T) {
	f, _ := openStore(t, Options{})
	w := stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("content"))
	other, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id})
	must(t, err)
	defer other.Close(t.Context())
	for _, h := range []pfs.Staged{w, other} {
		_, err := h.Commit(t.Context(), pfs.CommitOptions{Size: 7})
		must(t, err)
		if _, err := statFile(h.(*staged).file); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file is still open: %v", err)
		}
		_, err = h.Commit(t.Context(), pfs.CommitOptions{Size: 7})
		must(t, err)
	}
}

// TestBeyondWhatIsStaged asks for far more bytes than were staged. The length alone must reveal
// that, and it stays.
func TestBeyondWhatIsStaged(t *testing.T) {
	const pebibyte = 1 << 50
	f, dir := openStore(t, Options{})
	w := stage(t, f, "/f", pfs.CreateOptions{ID: id}, make([]byte, 10))
	for _, size := range []int64{11, pebibyte, math.MaxInt64} {
		_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: size})
		pfstest.WantKind(t, err, pfs.Integrity)
		for _, first := range []int64{0, 1, size / pfs.ChunkSize, math.MaxInt64} {
			leaves, err := w.(pfs.LeafDigester).LeafDigests(t.Context(), size, first, math.MaxInt)
			if len(leaves) != 0 || err != nil {
				t.Errorf("%d leaves from %d on of %d bytes, %v, want none", len(leaves), first, size, err)
			}
		}
	}
	info, err := os.Stat(filepath.Join(dir, digest.StagedName("f", id)))
	must(t, err)
	if info.Size() != 10 {
		t.Errorf("%d bytes are staged now, want 10", info.Size())
	}

	_, err = w.WriteAt(t.Context(), make([]byte, pfs.ChunkSize), 10) // one leaf, and 10 bytes
	must(t, err)
	for size, want := range map[int64]int{10: 1, pfs.ChunkSize: 1, pfs.ChunkSize + 10: 2, pfs.ChunkSize + 11: 1, pebibyte: 1} {
		leaves, err := w.(pfs.LeafDigester).LeafDigests(t.Context(), size, 0, 5)
		if len(leaves) != want || err != nil {
			t.Errorf("%d leaves of %d bytes, %v, want %d", len(leaves), size, err, want)
		}
	}
}
