package stagefs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// lossy is a store whose handles keep what is written until Sync, as HDFS does.
type lossy struct {
	*pfs.Layer
	mu      sync.Mutex
	handles []*lossyHandle
	damaged int64 // of new handles
}

func newLossy(store pfs.FileSystem) *lossy {
	return &lossy{Layer: pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(store, name)
	})}
}

func (l *lossy) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm os.FileMode) (pfs.Handle, error) {
	h, err := l.Layer.OpenHandle(ctx, name, flags, perm)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles = append(l.handles, &lossyHandle{Handle: h, damaged: l.damaged})
	return l.handles[len(l.handles)-1], nil
}

// lose makes all handles useless. Of what they have not synced, the first n bytes are stored.
func (l *lossy) lose(t *testing.T, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.handles {
		h.mu.Lock()
		h.kept = h.kept[:min(n, len(h.kept))]
		must(t, h.write(context.Background()))
		h.lost = true
		h.mu.Unlock()
	}
	l.handles = nil
}

type lossyHandle struct {
	pfs.Handle
	mu   sync.Mutex
	kept []byte
	at   int64
	lost bool

	damaged int64 // the first byte that cannot be read, if not 0
}

func (h *lossyHandle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if h.damaged > 0 && off+int64(len(p)) > h.damaged {
		return 0, pfs.Integrity
	}
	return h.Handle.ReadAt(ctx, p, off)
}

// Truncate also removes the damage.
func (h *lossyHandle) Truncate(ctx context.Context, size int64) error {
	if size <= h.damaged {
		h.damaged = 0
	}
	return h.Handle.Truncate(ctx, size)
}

func (h *lossyHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	info, err := h.Handle.Stat(ctx)
	switch {
	case err != nil:
		return 0, err
	case h.lost:
		return 0, pfs.Stale
	case off != info.Size+int64(len(h.kept)):
		return 0, pfs.Unsupported
	}
	h.at, h.kept = info.Size, append(h.kept, p...)
	return len(p), nil
}

func (h *lossyHandle) write(ctx context.Context) error {
	if len(h.kept) == 0 {
		return nil
	}
	_, err := h.Handle.WriteAt(ctx, h.kept, h.at)
	h.kept = nil
	return err
}

func (h *lossyHandle) Sync(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		return pfs.Stale
	}
	return h.write(ctx)
}

func (h *lossyHandle) Stat(ctx context.Context) (pfs.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	info, err := h.Handle.Stat(ctx)
	info.Size += int64(len(h.kept))
	return info, err
}

func (h *lossyHandle) Close(ctx context.Context) error {
	if err := h.Sync(ctx); err != nil {
		return err
	}
	return h.Handle.Close(ctx)
}

// again opens a file for the replacement of a process.
func again(t *testing.T, f *FS, name pfs.Path, id uint64) pfs.Handle {
	t.Helper()
	h, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), File: id, Continue: true}), name, pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	return h
}

// TestStreamIsContinued: the replacement of a process writes what the store has lost of a file that was
// being streamed, also under another name, and goes on.
func TestStreamIsContinued(t *testing.T) {
	for name, kept := range map[string]int{"nothing is left": 0, "some is left": 7, "all is left": 1000} {
		t.Run(name, func(t *testing.T) {
			mem := newStore()
			store := newLossy(mem)
			f := newFS(t, store, Options{})
			h := openFile(t, f, "/a", pfs.OpenCreate)
			writeAt(t, h, "synced,", 0)
			must(t, h.Sync(t.Context()))
			writeAt(t, h, "written,", 7)
			must(t, f.Rename(t.Context(), "/a", "/f"))
			writeAt(t, h, "in flight,", 15)
			store.lose(t, kept)
			f = restart(t, f, store, true)
			if info := pfstest.MustStat(t, f, "/f"); info.Size != 25 {
				t.Errorf("the size is %d", info.Size)
			}
			g := again(t, f, "/f", 0)
			writeAt(t, g, "in flight,new,", 15) // the kernel sends the last request once more
			must(t, g.Sync(t.Context()))
			writeAt(t, g, "end", 29)
			must(t, g.Close(t.Context()))
			pfstest.WantFile(t, mem, "/f", []byte("synced,written,in flight,new,end"))
			if got := left(t, f); got != "" {
				t.Errorf("local files: %s", got)
			}
		})
	}
}

// TestLostBytesAreSentAgain: the store loses what was not synced while this process goes on.
func TestLostBytesAreSentAgain(t *testing.T) {
	mem := newStore()
	store := newLossy(mem)
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/f", pfs.OpenCreate)
	writeAt(t, h, "one,", 0)
	store.lose(t, 2)
	writeAt(t, h, "two,", 4)
	store.lose(t, 0)
	must(t, h.Sync(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("one,two,"))
	writeAt(t, h, "three", 8)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("one,two,three"))
}

// shortening is a lossy store that cannot write at random, but shortens files, as HDFS does.
type shortening struct{ *lossy }

func (s shortening) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	c, err := s.lossy.Capabilities(ctx, name)
	return c &^ pfs.CanWriteRandom, err
}

// TestDamagedTail: the store has bytes that were not synced, and cannot read them. They are removed and sent again.
func TestDamagedTail(t *testing.T) {
	mem := memfs.New(memfs.Options{})
	store := newLossy(mem)
	f := newFS(t, shortening{store}, Options{})
	h, err := f.OpenHandle(t.Context(), "/f", pfs.OpenWrite|pfs.OpenCreate, 0o600)
	must(t, err)
	writeAt(t, h, "synced,", 0)
	must(t, h.Sync(t.Context()))
	writeAt(t, h, "written,", 7)
	store.lose(t, 4)
	store.damaged = 9
	writeAt(t, h, "more", 15)
	if last := store.handles[len(store.handles)-1]; last.damaged != 0 {
		t.Error("the damage is left")
	}
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("synced,written,more"))
}

// TestOthersTakeTheFile: what is not synced is lost if others have replaced the file meanwhile.
func TestOthersTakeTheFile(t *testing.T) {
	mem := newStore()
	store := newLossy(mem)
	f := newFS(t, store, Options{})
	writeAt(t, openFile(t, f, "/f", pfs.OpenCreate), "lost", 0)
	store.lose(t, 0)
	pfstest.WriteFile(t, mem, "/f", []byte("theirs"))
	f = restart(t, f, store, true)
	pfstest.WantFile(t, f, "/f", []byte("theirs"))
}

// TestStreamWithoutDisk: a local disk that is full costs only speed.
func TestStreamWithoutDisk(t *testing.T) {
	mem := newStore()
	store := newLossy(mem)
	dir := filepath.Join(t.TempDir(), "staging")
	f := newFS(t, store, Options{Dir: dir})
	must(t, os.Rename(dir, dir+".away")) // nothing can be written there
	h := openFile(t, f, "/f", pfs.OpenCreate)
	writeAt(t, h, "one", 0)
	pfstest.WantFile(t, mem, "/f", []byte("one"))
	must(t, os.Rename(dir+".away", dir))
	writeAt(t, h, "two", 3)
	store.lose(t, 0)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("onetwo"))
}

// TestTailIsBounded: a long file is synced now and then.
func TestTailIsBounded(t *testing.T) {
	mem := newStore()
	f := newFS(t, newLossy(mem), Options{})
	h := openFile(t, f, "/f", pfs.OpenCreate)
	p := bytes.Repeat([]byte("x"), 8<<20)
	for off := int64(0); off <= rules.MinUnsynced; off += int64(len(p)) { // the store has no blocks
		writeAt(t, h, string(p), off)
	}
	if size := h.f.tail.length(); size > int64(len(p)) {
		t.Errorf("the tail has %d bytes", size)
	}
	must(t, h.Close(t.Context()))
}

// TestTailEndsWithABlock: a file is synced where a block of the store ends, in the middle of a write, and anywhere if there is
// no such place for long.
func TestTailEndsWithABlock(t *testing.T) {
	for name, block := range map[string]int64{"small blocks": 12 << 20, "huge blocks": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			mem := newStore()
			f := newFS(t, newLossy(mem), Options{})
			h := openFile(t, f, "/f", pfs.OpenCreate)
			p := bytes.Repeat([]byte("x"), 8<<20)
			off := int64(0)
			for ; off < rules.MaxUnsynced+8<<20; off += int64(len(p)) {
				h.f.block = block
				writeAt(t, h, string(p), off)
			}
			if from := h.f.tail.From; from%block != 0 && from != rules.MaxUnsynced || off-from != h.f.tail.length() {
				t.Errorf("the tail begins at %d and has %d bytes", from, h.f.tail.length())
			}
			must(t, h.Close(t.Context()))
			if info, err := mem.Stat(t.Context(), "/f"); err != nil || info.Size != off {
				t.Errorf("%d bytes, %v", info.Size, err)
			}
		})
	}
}

// TestRemovedFileIsContinued: a file that was removed while two handles had it open has its content in the
// replacement, until both are closed.
func TestRemovedFileIsContinued(t *testing.T) {
	mem := newStore()
	pfstest.WriteFile(t, mem, "/f", []byte("content"))
	f := newFS(t, mem, Options{})
	h := openFile(t, f, "/f", 0)
	openFile(t, f, "/f", 0)
	id := pfstest.MustStat(t, f, "/f").ID
	must(t, f.Remove(t.Context(), "/f"))
	writeAt(t, h, "C", 0)
	pfstest.WriteFile(t, mem, "/f", []byte("another"))
	for range 2 {
		f = restart(t, f, mem, true)
	}
	one, two := again(t, f, "/f", id), again(t, f, "/f", id)
	must(t, one.Close(t.Context()))
	writeAt(t, two, "T", 6)
	got := make([]byte, 7)
	if _, err := two.ReadAt(t.Context(), got, 0); err != nil || string(got) != "ContenT" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := two.Stat(t.Context()); err != nil || info.Links != 0 || info.ID != id {
		t.Errorf("%+v, %v", info, err)
	}
	must(t, two.Close(t.Context()))
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
	pfstest.WantFile(t, f, "/f", []byte("another"))
	wantStatus(t, f, "", "")
}

// TestUploadedFileIsContinued: an upload has made another file on the store, but not for users.
func TestUploadedFileIsContinued(t *testing.T) {
	mem := newStore()
	pfstest.WriteFile(t, mem, "/f", []byte("content"))
	f := newFS(t, mem, Options{})
	id := pfstest.MustStat(t, f, "/f").ID
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "C", 0)
	must(t, h.Sync(t.Context()))
	f = restart(t, f, mem, true)
	if now := pfstest.MustStat(t, f, "/f").ID; now != id {
		t.Errorf("the ID was %d and is %d", id, now)
	}
	writeAt(t, again(t, f, "/f", id), "T", 6)
	pfstest.WantFile(t, f, "/f", []byte("ContenT"))
	pfstest.WriteFile(t, mem, "/g", []byte("another"))
	_, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), File: id, Continue: true}), "/g", pfs.OpenRead|pfs.OpenWrite, 0)
	pfstest.WantKind(t, err, pfs.Stale)
	f = restart(t, f, mem, false)
	if now := pfstest.MustStat(t, f, "/f").ID; now == id {
		t.Error("a new mount knows the ID of the one before")
	}
}

// TestKilledWhileRemoving: a process dies when the store has removed a file that is open. A removal that fails changes
// nothing.
func TestKilledWhileRemoving(t *testing.T) {
	for name, dirty := range map[string]bool{"changed": true, "unchanged": false} {
		t.Run(name, func(t *testing.T) {
			mem := newStore()
			pfstest.WriteFile(t, mem, "/f", []byte("content"))
			f := newFS(t, mem, Options{})
			h := openFile(t, f, "/f", 0)
			if dirty {
				writeAt(t, h, "C", 0)
			}
			id := pfstest.MustStat(t, f, "/f").ID
			must(t, h.f.lock(t.Context()))
			h.f.keep(t.Context())() // the removal has failed
			state := open
			if !dirty {
				state = ""
			}
			wantStatus(t, f, state, "")
			_ = h.f.keep(t.Context())
			h.f.unlock()
			must(t, mem.Remove(t.Context(), "/f"))
			f = restart(t, f, mem, true)
			got := make([]byte, 7)
			if _, err := again(t, f, "/f", id).ReadAt(t.Context(), got, 0); err != nil || string(got[1:]) != "ontent" || (got[0] == 'C') != dirty {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
