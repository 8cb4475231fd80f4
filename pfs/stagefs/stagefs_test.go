package stagefs

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// faulty is a store whose changes can fail, or that accepts the account no more.
type faulty struct {
	*pfs.Layer
	kind atomic.Pointer[pfs.Kind] // of the error of each change; nil for none
}

func newFaulty(store pfs.FileSystem) *faulty {
	f := &faulty{}
	f.Layer = pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if kind := f.kind.Load(); kind != nil && (a == pfs.Write || *kind == pfs.Unauthenticated) {
			return pfs.E("test.fault", name, *kind, nil)
		}
		return call(store, name)
	})
	return f
}

func (f *faulty) fail(kind pfs.Kind) { f.kind.Store(&kind) }
func (f *faulty) work()              { f.kind.Store(nil) }

// openFile opens a file for reading and writing.
func openFile(t testing.TB, f *FS, name pfs.Path, flags pfs.OpenFlags) *handle {
	t.Helper()
	h, err := f.OpenHandle(t.Context(), name, pfs.OpenRead|pfs.OpenWrite|flags, 0o640)
	must(t, err)
	return h.(*handle)
}

func writeAt(t testing.TB, h pfs.Handle, p string, off int64) {
	t.Helper()
	if n, err := h.WriteAt(t.Context(), []byte(p), off); n != len(p) || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
}

// left returns the names of the local files.
func left(t testing.TB, f *FS) string {
	t.Helper()
	entries, err := os.ReadDir(f.opts.Dir)
	must(t, err)
	var suffixes []string
	for _, e := range entries {
		suffixes = append(suffixes, filepath.Ext(e.Name()))
	}
	return strings.Join(suffixes, " ")
}

// wantStatus fails unless there is one staged file in that state; an empty state means none.
func wantStatus(t testing.TB, f *FS, state state, reason string) Status {
	t.Helper()
	all := f.Status()
	if state == "" && len(all) == 0 {
		return Status{}
	}
	if len(all) != 1 || all[0].State != string(state) || !strings.Contains(all[0].Reason, reason) {
		t.Fatalf("status is %+v, want one %s file (%q)", all, state, reason)
	}
	return all[0]
}

func TestWritesFromStartToEndAreNotStaged(t *testing.T) {
	store := newStore()
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/f", pfs.OpenCreate)
	for i := range 5 {
		writeAt(t, h, "block", int64(5*i))
	}
	if h.f.stage != nil {
		t.Error("the file is staged")
	}
	pfstest.WantFile(t, f, "/f", []byte("blockblockblockblockblock"))
	must(t, f.SetAttr(t.Context(), "/f", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}))
	if h.f.unsynced {
		t.Error("a later sync would change the time")
	}
	must(t, h.Flush(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("blockblockblockblockblock"))
	must(t, h.Close(t.Context()))
	h = openFile(t, f, "/f", pfs.OpenTruncate)
	writeAt(t, h, "new", 0)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("new"))
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
}

func TestStagedFileKeepsItsAttributes(t *testing.T) {
	store := newStore()
	pfstest.WriteFileWith(t, store, "/f", []byte("content"), pfs.CommitOptions{Mode: 0o604})
	must(t, store.SetXattr(t.Context(), "/f", "user.a", []byte("v"), 0))
	f := newFS(t, store, Options{})
	before := pfstest.MustStat(t, f, "/f")
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "NT", 3)
	pfstest.WantFile(t, f, "/f", []byte("conNTnt"))
	pfstest.WantFile(t, store, "/f", []byte("content"))
	must(t, h.Sync(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("conNTnt"))
	writeAt(t, h, "!", 9)
	at := time.Unix(1e9, 0)
	must(t, h.SetAttr(t.Context(), pfs.AttrModTime, pfs.Attrs{ModTime: at}))
	if info, err := h.Stat(t.Context()); err != nil || info.Size != 10 || !info.ModTime.Equal(at) {
		t.Errorf("%+v, %v", info, err)
	}
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("conNTnt\x00\x00!"))
	after := pfstest.MustStat(t, f, "/f")
	if after.ID != before.ID || after.Mode != before.Mode || !after.ModTime.Equal(at) {
		t.Errorf("%+v, want %+v", after, before)
	}
	file, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer file.Close()
	if page, err := f.List(t.Context(), "/", pfs.ListOptions{Attrs: true}); err != nil || page.Entries[0].ID != before.ID || file.Info().ID != before.ID {
		t.Errorf("%+v, %v, %+v", page, err, file.Info())
	}
	if v, err := f.Xattr(t.Context(), "/f", "user.a"); string(v) != "v" || err != nil {
		t.Errorf("attribute %q, %v", v, err)
	}
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
}

// TestFailedUploadIsKept: a close that the store does not take is an error, and the content is uploaded
// when the store is back.
func TestFailedUploadIsKept(t *testing.T) {
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Quota, pfs.NoSpace, pfs.Permission} {
		t.Run(kind.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := newStore()
				store := newFaulty(mem)
				pfstest.WriteFile(t, mem, "/f", []byte("content"))
				f := newFS(t, store, Options{})
				h := openFile(t, f, "/f", 0)
				writeAt(t, h, "C", 0)
				store.fail(kind)
				pfstest.WantKind(t, h.Sync(t.Context()), kind)
				wantStatus(t, f, open, kind.Error())
				pfstest.WantKind(t, h.Flush(t.Context()), kind)
				wantStatus(t, f, pending, kind.Error())
				pfstest.WantKind(t, h.Close(t.Context()), kind)
				pfstest.WantKind(t, f.Flush(t.Context()), kind)
				pfstest.WantFile(t, f, "/f", []byte("Content")) // who wrote it sees it
				pfstest.WantFile(t, mem, "/f", []byte("content"))
				store.work()
				time.Sleep(2 * retryPending)
				synctest.Wait()
				wantStatus(t, f, "", "")
				pfstest.WantFile(t, mem, "/f", []byte("Content"))
				if got := left(t, f); got != "" {
					t.Errorf("local files: %s", got)
				}
			})
		})
	}
}

// restart ends f as kill -9 does, and begins again.
func restart(t testing.TB, f *FS, store pfs.FileSystem, resume bool) *FS {
	t.Helper()
	must(t, f.Close())
	return newFS(t, store, Options{Dir: f.opts.Dir, Resume: resume})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newStore()
		store := newFaulty(mem)
		pfstest.WriteFile(t, mem, "/closed", []byte("content"))
		pfstest.WriteFile(t, mem, "/open", []byte("content"))
		f := newFS(t, store, Options{})
		closed, opened := openFile(t, f, "/closed", 0), openFile(t, f, "/open", 0)
		writeAt(t, closed, "C", 0)
		writeAt(t, opened, "C", 0)
		store.fail(pfs.Unavailable)
		pfstest.WantKind(t, closed.Close(t.Context()), pfs.Unavailable)
		f = restart(t, f, store, false)
		store.work()
		must(t, f.Flush(t.Context()))
		pfstest.WantFile(t, mem, "/closed", []byte("Content"))
		pfstest.WantFile(t, mem, "/open", []byte("content"))
		pfstest.WantFile(t, f, "/open", []byte("content"))
		st := wantStatus(t, f, incomplete, "")
		if st.Path != "/open" || st.Bytes != 7 {
			t.Errorf("%+v", st)
		}
		if b, err := os.ReadFile(st.Data); string(b) != "Content" || err != nil {
			t.Errorf("the local file has %q, %v", b, err)
		}

		// The path can be used meanwhile.
		h := openFile(t, f, "/open", 0)
		writeAt(t, h, "other  ", 0)
		pfstest.WantKind(t, f.Publish(t.Context(), st.ID), pfs.Conflict)
		must(t, h.Close(t.Context()))
		f = restart(t, f, store, false)
		wantStatus(t, f, incomplete, "")
		must(t, f.Publish(t.Context(), st.ID))
		pfstest.WantFile(t, mem, "/open", []byte("Content"))
		wantStatus(t, f, "", "")
		pfstest.WantKind(t, f.Publish(t.Context(), st.ID), pfs.NotExist)
	})
}

func TestDiscard(t *testing.T) {
	store := newStore()
	pfstest.WriteFile(t, store, "/f", []byte("content"))
	f := newFS(t, store, Options{})
	writeAt(t, openFile(t, f, "/f", 0), "C", 0)
	pfstest.WantKind(t, f.Discard(t.Context(), wantStatus(t, f, open, "").ID), pfs.Conflict)
	f = restart(t, f, store, false)
	must(t, f.Discard(t.Context(), wantStatus(t, f, incomplete, "").ID))
	wantStatus(t, f, "", "")
	pfstest.WantFile(t, f, "/f", []byte("content"))
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
}

// TestResume: the replacement of a process goes on with files that were open.
func TestResume(t *testing.T) {
	store := newStore()
	pfstest.WriteFile(t, store, "/f", []byte("content"))
	pfstest.WriteFile(t, store, "/g", []byte("content"))
	f := newFS(t, store, Options{})
	writeAt(t, openFile(t, f, "/f", 0), "C", 0)
	writeAt(t, openFile(t, f, "/g", 0), "C", 0)
	before := pfstest.MustStat(t, f, "/f")
	f = restart(t, f, store, true)
	if after := pfstest.MustStat(t, f, "/f"); after.ID != before.ID || after.Size != before.Size {
		t.Errorf("%+v, want %+v", after, before)
	}
	h, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), Continue: true}), "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	pfstest.WantFile(t, f, "/f", []byte("Content"))
	writeAt(t, h, "T", 6)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("ContenT"))
	pfstest.WantFile(t, store, "/g", []byte("content"))
	if st := wantStatus(t, f, open, ""); st.Path != "/g" {
		t.Errorf("%+v", st)
	}
	f = restart(t, f, store, false)
	wantStatus(t, f, incomplete, "")
}

// TestKilledInRename ends a process between a rename at the store and its record. The staged content follows the file.
func TestKilledInRename(t *testing.T) {
	store := newStore()
	pfstest.MustMkdir(t, store, "/d")
	for _, name := range []pfs.Path{"/f", "/d/g", "/kept"} {
		pfstest.WriteFile(t, store, name, []byte("content"))
	}
	var f *FS
	below := &renamer{newFaulty(store), func() { // the records are kept as they are now
		records, err := filepath.Glob(f.opts.Dir + "/*" + recordSuffix)
		must(t, err)
		for _, name := range records {
			text, err := os.ReadFile(name)
			must(t, err)
			must(t, os.WriteFile(name+".saved", text, 0o600))
		}
	}}
	f = newFS(t, below, Options{})
	for _, name := range []pfs.Path{"/f", "/d/g", "/kept"} {
		writeAt(t, openFile(t, f, name, 0), "C", 0)
	}
	must(t, f.Rename(t.Context(), "/f", "/new"))
	restore := func() {
		must(t, f.Close())
		saved, err := filepath.Glob(f.opts.Dir + "/*.saved")
		must(t, err)
		for _, name := range saved {
			must(t, os.Rename(name, strings.TrimSuffix(name, ".saved")))
		}
		f = newFS(t, below, Options{Dir: f.opts.Dir, Resume: true})
	}
	restore()
	pfstest.WantFile(t, f, "/new", []byte("Content"))
	must(t, f.Rename(t.Context(), "/d", "/e"))
	restore()
	pfstest.WantFile(t, f, "/e/g", []byte("Content"))
	if err := f.Rename(t.Context(), "/kept", "/absent/kept"); err == nil {
		t.Error("renamed into a directory that does not exist")
	}
	restore()
	pfstest.WantFile(t, f, "/kept", []byte("Content"))
}

// renamer is a store that calls renamed when a Rename has ended.
type renamer struct {
	*faulty
	renamed func()
}

func (r *renamer) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	defer r.renamed()
	return r.faulty.Rename(ctx, oldName, newName)
}

// TestContinuedStreamIsSynced: the store may keep bytes of the process that has died.
func TestContinuedStreamIsSynced(t *testing.T) {
	f := newFS(t, newStore(), Options{})
	must(t, openFile(t, f, "/f", pfs.OpenCreate).Close(t.Context()))
	h, err := f.OpenHandle(pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), Continue: true}), "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	if !h.(*handle).f.unsynced {
		t.Error("nothing would be synced")
	}
	must(t, h.Close(t.Context()))
}

// TestOthersChangeTheFile: the last close wins, and the log says so. What was closed before that does not replace
// what others have written since.
func TestOthersChangeTheFile(t *testing.T) {
	mem := newStore()
	store := newFaulty(mem)
	pfstest.WriteFile(t, mem, "/f", []byte("content"))
	var log bytes.Buffer
	var mu sync.Mutex
	f := newFS(t, store, Options{Logger: slog.New(slog.NewTextHandler(writer(func(p []byte) { mu.Lock(); log.Write(p); mu.Unlock() }), nil))})
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "C", 0)
	pfstest.WriteFile(t, mem, "/f", []byte("theirs"))
	must(t, h.Flush(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("Content"))
	if !strings.Contains(log.String(), "replaces what others have written") {
		t.Errorf("the log has %q", log.String())
	}
	writeAt(t, h, "c", 0)
	store.fail(pfs.NoSpace)
	pfstest.WantKind(t, h.Close(t.Context()), pfs.NoSpace)
	store.work()
	pfstest.WriteFile(t, mem, "/f", []byte("theirs"))
	pfstest.WantKind(t, f.Flush(t.Context()), pfs.Conflict)
	st := wantStatus(t, f, pending, "others have changed it")
	f = restart(t, f, store, false)
	pfstest.WantKind(t, f.Flush(t.Context()), pfs.Conflict)
	pfstest.WantFile(t, mem, "/f", []byte("theirs"))
	must(t, mem.Remove(t.Context(), "/f"))
	pfstest.WantKind(t, f.Flush(t.Context()), pfs.Stale)
	must(t, f.Publish(t.Context(), st.ID))
	pfstest.WantFile(t, mem, "/f", []byte("content"))
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// TestUploadWithoutAnswer: the process ends between the end of an upload and that of its record.
func TestUploadWithoutAnswer(t *testing.T) {
	store := newStore()
	pfstest.WriteFile(t, store, "/f", []byte("content"))
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "C", 0)
	must(t, h.f.stage.setState(pending))
	pfstest.WriteFile(t, store, "/f", []byte("Content"))
	f = restart(t, f, store, false)
	must(t, f.Flush(t.Context()))
	wantStatus(t, f, "", "")
}

// TestNamesChange: what is staged follows its file.
func TestNamesChange(t *testing.T) {
	store := newStore()
	pfstest.MustMkdir(t, store, "/d")
	pfstest.WriteFile(t, store, "/d/f", []byte("content"))
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/d/f", 0)
	writeAt(t, h, "C", 0)
	must(t, f.Rename(t.Context(), "/d", "/e"))
	if st := wantStatus(t, f, open, ""); st.Path != "/e/f" {
		t.Errorf("%+v", st)
	}
	must(t, f.Rename(t.Context(), "/e/f", "/e/g"))
	must(t, h.Sync(t.Context()))
	pfstest.WantFile(t, store, "/e/g", []byte("Content"))
	writeAt(t, h, "c", 0)
	must(t, f.Remove(t.Context(), "/e/g"))
	wantStatus(t, f, "", "")
	writeAt(t, h, "gone", 0)
	must(t, h.Close(t.Context()))
	pfstest.WantNames(t, store, "/e")
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
}

// TestTakesOverAbandonedDirectories: what a mount at another place has left is uploaded too, but not while its process may
// come back, or while the store does not accept the account. It also is if the clock is then set back by a day.
func TestTakesOverAbandonedDirectories(t *testing.T) {
	for _, back := range []time.Duration{0, 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) { testTakesOver(t, back) })
	}
}

func testTakesOver(t *testing.T, back time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		mem, top := newStore(), t.TempDir()
		store := newFaulty(mem)
		pfstest.WriteFile(t, mem, "/closed", []byte("content"))
		pfstest.WriteFile(t, mem, "/open", []byte("content"))
		f := newFS(t, store, Options{Dir: top + "/tree-1"})
		writeAt(t, openFile(t, f, "/open", 0), "C", 0)
		h := openFile(t, f, "/closed", 0)
		writeAt(t, h, "C", 0)
		store.fail(pfs.NoSpace)
		pfstest.WantKind(t, h.Close(t.Context()), pfs.NoSpace)
		must(t, f.Close())
		must(t, os.Chtimes(top+"/tree-1/"+lockName, time.Time{}, time.Now().Add(back)))
		store.work()
		g := newFS(t, store, Options{Dir: top + "/tree-2", Others: top + "/tree-*"})
		time.Sleep(abandoned / 2)
		synctest.Wait()
		wantStatus(t, g, "", "")
		store.fail(pfs.Unauthenticated)
		time.Sleep(abandoned)
		synctest.Wait()
		wantStatus(t, g, "", "")
		store.work()
		time.Sleep(abandoned)
		synctest.Wait()
		if st := wantStatus(t, g, incomplete, ""); st.Path != "/open" {
			t.Errorf("%+v", st)
		}
		pfstest.WantFile(t, mem, "/closed", []byte("Content"))
		if _, err := os.Stat(top + "/tree-1"); !os.IsNotExist(err) {
			t.Errorf("the directory is there: %v", err)
		}
	})
}

// TestClockAhead: a directory in use is not taken over if the clock is set a day ahead.
func TestClockAhead(t *testing.T) {
	store, top := newStore(), t.TempDir()
	pfstest.WriteFile(t, store, "/f", []byte("content"))
	f := newFS(t, store, Options{Dir: top + "/tree-1"})
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "C", 0)
	g := newFS(t, store, Options{Dir: top + "/tree-2", Others: top + "/tree-*"})
	must(t, os.Chtimes(top+"/tree-1/"+lockName, time.Time{}, time.Now().Add(-24*time.Hour)))
	g.adopt()
	wantStatus(t, g, "", "")
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, store, "/f", []byte("Content"))
}

// TestKilledWhileTakingOver: a process that takes over what another mount has left is killed between its steps.
func TestKilledWhileTakingOver(t *testing.T) {
	for _, steps := range []string{"", recordSuffix} { // the data is linked; and the record is moved
		synctest.Test(t, func(t *testing.T) {
			mem, top := newStore(), t.TempDir()
			store := newFaulty(mem)
			pfstest.WriteFile(t, mem, "/f", []byte("content"))
			f := newFS(t, store, Options{Dir: top + "/tree-1"})
			h := openFile(t, f, "/f", 0)
			writeAt(t, h, "C", 0)
			store.fail(pfs.NoSpace)
			pfstest.WantKind(t, h.Close(t.Context()), pfs.NoSpace)
			must(t, f.Close())
			store.work()

			must(t, os.Mkdir(top+"/tree-2", 0o700))
			id := f.Status()[0].ID
			must(t, os.Link(top+"/tree-1/"+id+dataSuffix, top+"/tree-2/"+id+dataSuffix))
			if steps == recordSuffix {
				must(t, os.Rename(top+"/tree-1/"+id+recordSuffix, top+"/tree-2/"+id+recordSuffix))
			}
			g := newFS(t, store, Options{Dir: top + "/tree-2", Others: top + "/tree-*"})
			time.Sleep(2 * abandoned)
			synctest.Wait()
			pfstest.WantFile(t, mem, "/f", []byte("Content"))
			if _, err := os.Stat(top + "/tree-1"); !os.IsNotExist(err) || left(t, g) != "" {
				t.Errorf("left: %v, %s", err, left(t, g))
			}
		})
	}
}

// TestSlowDisk: what waits for the local disk of one file does not delay others.
func TestSlowDisk(t *testing.T) {
	store := newStore()
	pfstest.WriteFile(t, store, "/slow", nil)
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/slow", 0)
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	waiting, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(waiting)
		f.Status()
	}()
	go func() {
		defer close(done)
		f.release(f.acquire("/slow"))
		other := openFile(t, f, "/other", pfs.OpenCreate)
		writeAt(t, other, "content", 0)
		must(t, other.Close(t.Context()))
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("another file waits")
	}
	t.Cleanup(func() { <-waiting })
}

// TestAttributesOfPendingFile: attributes that are set after a failed upload are no change by others for the next
// process.
func TestAttributesOfPendingFile(t *testing.T) {
	mem := newStore()
	pfstest.WriteFile(t, mem, "/f", []byte("content"))
	asHDFS := pfs.NewLayerWith(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(mem, name)
	}, pfs.Hooks{Info: func(_ context.Context, _ pfs.Path, info pfs.Info) (pfs.Info, error) {
		info.Version += info.ModTime.String()
		return info, nil
	}})
	store := newFaulty(asHDFS)
	f := newFS(t, store, Options{})
	h := openFile(t, f, "/f", 0)
	writeAt(t, h, "C", 0)
	store.fail(pfs.NoSpace)
	pfstest.WantKind(t, h.Flush(t.Context()), pfs.NoSpace)
	store.work()
	must(t, h.SetAttr(t.Context(), pfs.AttrMode|pfs.AttrModTime, pfs.Attrs{Mode: 0o600, ModTime: time.Unix(1e9, 0)}))
	must(t, f.Close())

	g := newFS(t, store, f.opts)
	must(t, g.Flush(t.Context()))
	pfstest.WantFile(t, mem, "/f", []byte("Content"))
	if got := pfstest.MustStat(t, mem, "/f").Mode; got != 0o600 {
		t.Errorf("mode %v", got)
	}
}

// TestLockOfRemovedDirectory: no process uses a directory that another one has removed, after it took over what was in it.
func TestLockOfRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o700))
	lock, err := openLock(dir)
	must(t, err)
	defer lock.Close()
	must(t, os.RemoveAll(dir))
	pfstest.WantKind(t, hold(lock), pfs.NotExist)
}

// TestOneProcess: two processes do not use one directory.
func TestOneProcess(t *testing.T) {
	store := newStore()
	f := newFS(t, store, Options{})
	_, err := New(store, Options{Dir: f.opts.Dir})
	pfstest.WantKind(t, err, pfs.Exist)
	must(t, f.Close())
	must(t, os.Chmod(f.opts.Dir, 0o750))
	_, err = New(store, Options{Dir: f.opts.Dir})
	pfstest.WantKind(t, err, pfs.Permission)
}

// TestSilentStore: who waits for an upload can be given up, and the content is kept.
func TestSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newStore()
		var silent atomic.Bool
		store := pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
			if silent.Load() {
				<-ctx.Done()
				return pfs.CheckContext(ctx, "test.silent", name)
			}
			return call(mem, name)
		})
		pfstest.WriteFile(t, mem, "/f", []byte("content"))
		f := newFS(t, store, Options{})
		synctest.Wait() // the first background upload finds nothing
		h := openFile(t, f, "/f", 0)
		writeAt(t, h, "C", 0)
		silent.Store(true)
		within, cancel := context.WithTimeout(t.Context(), retryPending/2)
		defer cancel()
		done := make(chan error)
		go func() { done <- h.Flush(within) }()
		synctest.Wait()
		buf := make([]byte, 7)
		if _, err := h.ReadAt(t.Context(), buf, 0); string(buf) != "Content" || err != nil { // readers do not wait
			t.Errorf("%q, %v", buf, err)
		}
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := h.WriteAt(soon, []byte("x"), 0)
		pfstest.WantKind(t, err, pfs.Canceled)
		pfstest.WantKind(t, <-done, pfs.Canceled)
		wantStatus(t, f, pending, "")
		silent.Store(false)
		must(t, h.Close(t.Context()))
		pfstest.WantFile(t, mem, "/f", []byte("Content"))
	})
}
