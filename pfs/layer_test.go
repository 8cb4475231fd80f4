package pfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// layerCalls has every operation on a path, with the accesses that it must pass. New ones belong
// here.
var layerCalls = []struct {
	name string
	want []string
	call func(ctx context.Context, l *pfs.Layer) error
}{
	{"Open", []string{"Read /f"}, func(ctx context.Context, l *pfs.Layer) error { _, err := l.Open(ctx, "/f"); return err }},
	{"Create", []string{"Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.Create(ctx, "/f", pfs.CreateOptions{})
		return err
	}},
	{"Stat", []string{"Lookup /f"}, func(ctx context.Context, l *pfs.Layer) error { _, err := l.Stat(ctx, "/f"); return err }},
	{"List", []string{"ListDir /"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.List(ctx, "/", pfs.ListOptions{})
		return err
	}},
	{"Mkdir", []string{"Make /new"}, func(ctx context.Context, l *pfs.Layer) error { return l.Mkdir(ctx, "/new", 0o755) }},
	{"Remove", []string{"Delete /f"}, func(ctx context.Context, l *pfs.Layer) error { return l.Remove(ctx, "/f") }},
	{"Rename", []string{"Delete /f", "Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.Rename(ctx, "/f", "/new")
	}},
	{"Symlink", []string{"Write /new"}, func(ctx context.Context, l *pfs.Layer) error { return l.Symlink(ctx, "f", "/new") }},
	{"SetAttr", []string{"Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.SetAttr(ctx, "/f", pfs.AttrMode, pfs.Attrs{Mode: 0o600})
	}},
	{"SetAttr of the owner", []string{"Administer /f"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.SetAttr(ctx, "/f", pfs.AttrOwner, pfs.Attrs{Owner: "alice"})
	}},
	{"SetAttr of the size and group", []string{"Write /f", "Administer /f"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.SetAttr(ctx, "/f", pfs.AttrSize|pfs.AttrGID, pfs.Attrs{Size: 1})
	}},
	{"SetAttr of setuid", []string{"Write /f", "Administer /f"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.SetAttr(ctx, "/f", pfs.AttrMode, pfs.Attrs{Mode: fs.ModeSetuid | 0o755})
	}},
	{"OpenHandle for reading", []string{"Read /f"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.OpenHandle(ctx, "/f", pfs.OpenRead, 0)
		return err
	}},
	{"OpenHandle for writing", []string{"Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.OpenHandle(ctx, "/new", pfs.OpenWrite|pfs.OpenCreate, 0)
		return err
	}},
	{"OpenHandle for both", []string{"Read /f", "Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
		return err
	}},
	{"SetAttr of a Handle", []string{"Read /f", "Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		h, err := l.OpenHandle(ctx, "/f", pfs.OpenRead, 0)
		if err != nil {
			return err
		}
		return h.SetAttr(ctx, pfs.AttrMode, pfs.Attrs{Mode: 0o600})
	}},
	{"Commit", []string{"Write /f", "Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		w, err := l.Create(ctx, "/f", pfs.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = w.Commit(ctx, pfs.CommitOptions{})
		return err
	}},
	{"extended attributes", []string{"Write /f", "Read /f", "Lookup /f", "Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		if err := l.SetXattr(ctx, "/f", "user.x", nil, 0); err != nil {
			return err
		}
		_, err := l.Xattr(ctx, "/f", "user.x")
		_, err2 := l.ListXattr(ctx, "/f")
		return errors.Join(err, err2, l.RemoveXattr(ctx, "/f", "user.x"))
	}},
	{"HardLink", []string{"Delete /f", "Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.HardLink(ctx, "/f", "/new")
	}},
	{"Mknod of a FIFO", []string{"Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.Mknod(ctx, "/new", fs.ModeNamedPipe|0o600, 0)
	}},
	{"Mknod of a device", []string{"Write /new", "Administer /new"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.Mknod(ctx, "/new", fs.ModeDevice|0o600, 0x101)
	}},
	{"Concat", []string{"Delete /g", "Delete /h", "Write /f"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.Concat(ctx, "/f", []pfs.Path{"/g", "/h"})
	}},
	{"Capabilities", []string{"Lookup /d"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.Capabilities(ctx, "/d")
		return err
	}},
	{"RenameExclusive", []string{"Delete /f", "Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.RenameExclusive(ctx, "/f", "/new")
	}},
	{"RemoveTree", []string{"Delete /d"}, func(ctx context.Context, l *pfs.Layer) error { return l.RemoveTree(ctx, "/d") }},
	{"Space", []string{"Measure /"}, func(ctx context.Context, l *pfs.Layer) error { _, err := l.Space(ctx, "/"); return err }},
	{"Usage", []string{"Measure /d"}, func(ctx context.Context, l *pfs.Layer) error { _, err := l.Usage(ctx, "/d"); return err }},
	{"SetQuota", []string{"Administer /d"}, func(ctx context.Context, l *pfs.Layer) error { return l.SetQuota(ctx, "/d", 1, 1) }},
	{"CopyFile", []string{"Read /f", "Write /new"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.CopyFile(ctx, "/f", "/new", pfs.CopyOptions{}, nil)
		return err
	}},
	{"Digest", []string{"Read /f"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.Digest(ctx, "/f", "xxh3", nil)
		return err
	}},
	{"CheckAccess", []string{"Discard /d"}, func(ctx context.Context, l *pfs.Layer) error {
		return l.CheckAccess(ctx, pfs.Discard, "/d")
	}},
	{"WriteBatch", []string{"Make /new", "Write /new/f"}, func(ctx context.Context, l *pfs.Layer) error {
		return errors.Join(l.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/new", Mode: fs.ModeDir | 0o755}, {Path: "/new/f"}})...)
	}},
	{"BlockLocations", []string{"Read /f"}, func(ctx context.Context, l *pfs.Layer) error {
		_, err := l.BlockLocations(ctx, "/f", 0, 2)
		return err
	}},
	{"Sweep", []string{"Discard /d"}, func(ctx context.Context, l *pfs.Layer) error {
		_, _, err := l.Sweep(ctx, "/d", time.Hour)
		return err
	}},
}

// located is a store with block locations.
type located struct{ *memfs.FS }

func (located) BlockLocations(_ context.Context, name pfs.Path, off, n int64) ([]pfs.BlockLocation, error) {
	if name != "/f" {
		return nil, pfs.E("located.BlockLocations", name, pfs.NotExist, nil)
	}
	return []pfs.BlockLocation{{Offset: off, Length: n, Hosts: []string{"host"}}}, nil
}

func TestLayerTellsBlockLocations(t *testing.T) {
	sub := pfs.NewMux(pfs.Mount{At: "/m", FS: located{newTree(t, "/f")}, Dir: "/"})
	got, err := pfs.LocateBlocks(t.Context(), sub, "/m/f", 3, 4)
	if err != nil || len(got) != 1 || got[0].Offset != 3 || got[0].Length != 4 || !slices.Equal(got[0].Hosts, []string{"host"}) {
		t.Errorf("locations = %+v, %v", got, err)
	}
	_, err = pfs.LocateBlocks(t.Context(), sub, "/m/g", 3, 4)
	wantPath(t, err, pfs.NotExist, "/m/g")
}

// accessNames are the texts for Accesses in the tests.
var accessNames = map[pfs.Access]string{
	pfs.Lookup: "Lookup", pfs.Read: "Read", pfs.ListDir: "ListDir", pfs.Write: "Write",
	pfs.Make: "Make", pfs.Delete: "Delete", pfs.Discard: "Discard", pfs.Administer: "Administer", pfs.Measure: "Measure",
}

func TestLayerAsksForEveryOperation(t *testing.T) {
	for _, c := range layerCalls {
		var asked []string
		store := located{newTree(t, "/f", "/g", "/h", "/d/")}
		l := pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
			asked = append(asked, accessNames[a]+" "+string(name))
			return call(store, name)
		})
		if err := c.call(t.Context(), l); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s asks for %q, want %q", c.name, asked, c.want)
		}
	}
}

func TestLayerCanRefuseEveryOperation(t *testing.T) {
	for _, c := range layerCalls {
		l := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, _ func(pfs.FileSystem, pfs.Path) error) error {
			return pfs.E("test.Interceptor", name, pfs.Permission, nil)
		})
		if err := c.call(t.Context(), l); !errors.Is(err, pfs.Permission) {
			t.Errorf("%s: %v, want Permission", c.name, err)
		}
	}
}

func TestLayerAsksNobodyInVain(t *testing.T) {
	l := pfs.NewLayer(func(context.Context, pfs.Access, pfs.Path, func(pfs.FileSystem, pfs.Path) error) error {
		t.Error("the layer was asked")
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range layerCalls {
		if err := c.call(ctx, l); !errors.Is(err, pfs.Canceled) {
			t.Errorf("%s: %v, want Canceled", c.name, err)
		}
	}
	if err := l.Mkdir(t.Context(), "/a/../b", 0o755); !errors.Is(err, pfs.Invalid) {
		t.Errorf("Mkdir: %v, want Invalid", err)
	}
	if err := l.Rename(t.Context(), "relative", "/b"); !errors.Is(err, pfs.Invalid) {
		t.Errorf("Rename: %v, want Invalid", err)
	}
}

func TestLayerMayCallTwice(t *testing.T) {
	store := newTree(t, "/f")
	l := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if err := call(store, "/missing"); !errors.Is(err, pfs.NotExist) {
			t.Errorf("the first call: %v, want NotExist", err)
		}
		return call(store, name)
	})
	pfstest.WantFile(t, l, "/f", []byte("/f"))
}

func TestAccessChanges(t *testing.T) {
	for a, name := range accessNames {
		want := a != pfs.Measure && a != pfs.Lookup && a != pfs.Read && a != pfs.ListDir
		if got := a.Changes(); got != want {
			t.Errorf("%s changes: %v", name, got)
		}
	}
}

func TestLayerErrorPaths(t *testing.T) {
	store := newTree(t, "/in/f", "/in/d/x", "/in/link -> d", "/in/in/f", "/above -> in")
	sub := pfstest.NewSub(store, "/in")
	mux := pfs.NewMux(pfs.Mount{At: "/m/n", FS: store, Dir: "/in"}, pfs.Mount{At: "/p", FS: store, Dir: "/in/d"})
	broken := pfstest.NewSub(store, "/above/x")
	gone := pfstest.NewSub(store, "/gone")
	stat := func(fsys pfs.FileSystem, name pfs.Path) error {
		_, err := fsys.Stat(t.Context(), name)
		return err
	}
	tests := []struct {
		err  error
		kind pfs.Kind
		want pfs.Path
	}{
		{stat(sub, "/missing"), pfs.NotExist, "/missing"},
		{stat(sub, "/f/x"), pfs.NotDir, "/f"},
		{stat(sub, "/link/x/y"), pfs.Symlink, "/link"},
		{stat(sub, "/in/missing"), pfs.NotExist, "/in/missing"},
		{stat(gone, "/"), pfs.NotExist, "/"},
		{stat(gone, "/x"), pfs.NotExist, "/x"},
		{stat(broken, "/x"), pfs.Symlink, "/above"}, // not below the mount: unchanged
		{stat(mux, "/m/n/link/x"), pfs.Symlink, "/m/n/link"},
		{stat(mux, "/m/n/in/missing"), pfs.NotExist, "/m/n/in/missing"},
		{stat(mux, "/p/missing"), pfs.NotExist, "/p/missing"},
		{sub.Rename(t.Context(), "/missing", "/new"), pfs.NotExist, "/missing"},
		{sub.Rename(t.Context(), "/f", "/d"), pfs.Exist, "/d"},
		{sub.Rename(t.Context(), "/f", "/link/new"), pfs.Symlink, "/link"},
		{sub.Rename(t.Context(), "/link/x", "/new"), pfs.Symlink, "/link"},
		{sub.Rename(t.Context(), "/d", "/d/new"), pfs.Invalid, "/d"},
		{sub.Rename(t.Context(), "/missing", "/in/missing"), pfs.NotExist, "/missing"},
		{sub.Rename(t.Context(), "/in/missing", "/missing"), pfs.NotExist, "/in/missing"},
		{mux.Rename(t.Context(), "/p/missing", "/m/n/new"), pfs.NotExist, "/p/missing"},
		{mux.Rename(t.Context(), "/m/n/f", "/p/missing/new"), pfs.NotExist, "/p/missing/new"},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i), func(t *testing.T) { wantPath(t, tt.err, tt.kind, tt.want) })
	}
}

func TestLayerErrorPathsOfOpenFiles(t *testing.T) {
	sub := pfstest.NewSub(newTree(t, "/in/f"), "/in")
	ctx, p := t.Context(), make([]byte, 1)
	f, err := sub.Open(ctx, "/f")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, err = f.ReadAt(ctx, p, 0)
	wantPath(t, err, pfs.Closed, "/f")

	w, err := sub.Create(ctx, "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: 5})
	wantPath(t, err, pfs.Integrity, "/f")
	w.Close(ctx)
	_, err = w.WriteAt(ctx, p, 0)
	wantPath(t, err, pfs.Closed, "/f")
	_, err = w.ReadAt(ctx, p, 0)
	wantPath(t, err, pfs.Closed, "/f")
	wantPath(t, w.Sync(ctx), pfs.Closed, "/f")

	h, err := sub.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	h.Close(ctx)
	_, err = h.WriteAt(ctx, p, 0)
	wantPath(t, err, pfs.Closed, "/f")
	wantPath(t, h.Truncate(ctx, 0), pfs.Closed, "/f")
}

// TestLayerTakesPathsTogether: an operation on several paths passes one function, and the error
// has the path that the caller used.
func TestLayerTakesPathsTogether(t *testing.T) {
	store := newTree(t, "/in/f", "/in/g", "/in/h")
	var seen []string
	refuse := false
	var wrote []pfs.Path
	l := pfs.NewLayerWith(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(store, name.Rebase("/", "/in"))
	}, pfs.Hooks{
		Paths: func(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
			seen = append(seen, op.Name+" "+string(op.Target()))
			if refuse {
				return pfs.E("test.Paths", op.Target(), pfs.Permission, nil)
			}
			return op.Each(ctx, call)
		},
		Wrote: func(name pfs.Path) { wrote = append(wrote, name) },
	})
	ctx := t.Context()
	calls := map[string]func() error{
		"Rename":          func() error { return l.Rename(ctx, "/f", "/new") },
		"RenameExclusive": func() error { return l.RenameExclusive(ctx, "/new", "/f") },
		"HardLink":        func() error { return l.HardLink(ctx, "/f", "/second") },
		"CopyFile":        func() error { _, err := l.CopyFile(ctx, "/f", "/copy", pfs.CopyOptions{}, nil); return err },
		"Concat":          func() error { return l.Concat(ctx, "/f", []pfs.Path{"/g", "/h"}) },
	}
	for _, name := range []string{"Rename", "RenameExclusive", "HardLink", "CopyFile", "Concat"} {
		seen, wrote, refuse = nil, nil, true
		pfstest.WantKind(t, calls[name](), pfs.Permission)
		refuse = false
		if err := calls[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(seen) != 2 || !strings.HasPrefix(seen[0], name+" /") || len(wrote) != 2 {
			t.Errorf("%s passes %q and wrote %q", name, seen, wrote)
		}
	}
	wantPath(t, l.Concat(ctx, "/f", []pfs.Path{"/copy", "/missing"}), pfs.NotExist, "/missing")
	wantPath(t, l.Concat(ctx, "/missing", []pfs.Path{"/copy"}), pfs.NotExist, "/missing")
}

func TestLayerNamesInfoAsAsked(t *testing.T) {
	sub := pfstest.NewSub(newTree(t, "/in/f"), "/in")
	if got := pfstest.MustStat(t, sub, "/").Name; got != "/" {
		t.Errorf("the root is named %q", got)
	}
	if got := pfstest.WriteFile(t, sub, "/g", nil).Name; got != "g" {
		t.Errorf("Commit returns the name %q", got)
	}
}

func TestLayerTwoStores(t *testing.T) {
	mux := pfs.NewMux(
		pfs.Mount{At: "/a", FS: newTree(t, "/f"), Dir: "/"},
		pfs.Mount{At: "/b", FS: newTree(t, "/g"), Dir: "/"},
	)
	wantPath(t, mux.Rename(t.Context(), "/a/f", "/b/f"), pfs.CrossStore, "/b/f")
	wantPath(t, mux.RenameExclusive(t.Context(), "/a/f", "/b/f"), pfs.CrossStore, "/b/f")
	_, err := mux.CopyFile(t.Context(), "/a/f", "/b/f", pfs.CopyOptions{}, nil)
	wantPath(t, err, pfs.CrossStore, "/b/f")
	pfstest.WantNames(t, mux, "/b", "g")
}

// batches is a store that records the batches it is given.
type batches struct {
	pfs.FileSystem
	got [][]pfs.Path
	err func(pfs.Path) error // if not nil, fails entries instead of writing them
}

func (b *batches) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	var names []pfs.Path
	errs := make([]error, len(entries))
	for i, e := range entries {
		names = append(names, e.Path)
		if errs[i] = b.err(e.Path); errs[i] == nil {
			errs[i] = pfs.WriteBatch(ctx, b.FileSystem, []pfs.BatchEntry{e})[0]
		}
	}
	b.got = append(b.got, names)
	return errs
}

func newBatches() *batches {
	return &batches{FileSystem: memfs.New(memfs.Options{}), err: func(pfs.Path) error { return nil }}
}

func entriesOf(names ...pfs.Path) (entries []pfs.BatchEntry) {
	for _, name := range names {
		entries = append(entries, pfs.BatchEntry{Path: name, Data: []byte(name)})
	}
	return entries
}

func TestLayerGroupsBatches(t *testing.T) {
	a, b := newBatches(), newBatches()
	mux := pfs.NewMux(pfs.Mount{At: "/a", FS: a, Dir: "/"}, pfs.Mount{At: "/b", FS: b, Dir: "/"})
	errs := mux.WriteBatch(t.Context(), entriesOf("/a/1", "/a/2", "/b/3", "/top", "/a/../x", "/a/4", "/a/no/5", "/a/6"))
	kinds := []pfs.Kind{3: pfs.ReadOnly, 4: pfs.Invalid, 6: pfs.NotExist, 7: 0}
	for i, want := range kinds {
		if (errs[i] == nil) != (want == 0) || errs[i] != nil && !errors.Is(errs[i], want) {
			t.Errorf("entry %d: %v, want kind %d", i, errs[i], want)
		}
	}
	wantPath(t, errs[3], pfs.ReadOnly, "/top")
	wantPath(t, errs[6], pfs.NotExist, "/a/no/5")
	want := [][]pfs.Path{{"/1", "/2"}, {"/4", "/no/5", "/6"}}
	if !slices.EqualFunc(a.got, want, slices.Equal) {
		t.Errorf("batches of /a are %q, want %q", a.got, want)
	}
	if !slices.EqualFunc(b.got, [][]pfs.Path{{"/3"}}, slices.Equal) {
		t.Errorf("batches of /b are %q", b.got)
	}
	pfstest.WantFile(t, mux, "/a/6", []byte("/a/6"))
	pfstest.WantFile(t, mux, "/b/3", []byte("/b/3"))
}

func TestLayerLooksAgainAtBusyEntries(t *testing.T) {
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Limit, pfs.Symlink} {
		store := newBatches()
		store.err = func(name pfs.Path) error {
			if name == "/in/2" {
				return pfs.E("test.WriteBatch", name, kind, nil)
			}
			return nil
		}
		pfstest.MustMkdir(t, store, "/in")
		sub := pfstest.NewSub(store, "/in")
		for i, err := range sub.WriteBatch(t.Context(), entriesOf("/1", "/2", "/3")) {
			if err != nil {
				t.Errorf("entry %d: %v", i, err)
			}
		}
		pfstest.WantNames(t, sub, "/", "1", "2", "3")
	}
}

// silent is a store that returns only when its timeout has passed.
type silent struct {
	pfs.FileSystem
	timeout time.Duration
}

func (s silent) WriteBatch(_ context.Context, entries []pfs.BatchEntry) []error {
	time.Sleep(s.timeout)
	return slices.Repeat([]error{pfs.E("test.WriteBatch", entries[0].Path, pfs.Unavailable, nil)}, len(entries))
}

func (s silent) Create(_ context.Context, name pfs.Path, _ pfs.CreateOptions) (pfs.Staged, error) {
	time.Sleep(s.timeout)
	return nil, pfs.E("test.Create", name, pfs.Unavailable, nil)
}

func (s silent) Open(_ context.Context, name pfs.Path) (pfs.File, error) {
	time.Sleep(s.timeout)
	return nil, pfs.E("test.Open", name, pfs.Unavailable, nil)
}

// TestReadBatchDoesNotWaitForEachFile checks that a store that is down gets no more requests than
// those that ran at the same time.
func TestReadBatchDoesNotWaitForEachFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 15 * time.Second
		var files []pfs.BatchFile
		for i := range 500 {
			files = append(files, pfs.BatchFile{Path: pfs.Path(fmt.Sprint("/", i))})
		}
		began := time.Now()
		for i, err := range pfs.ReadBatch(t.Context(), silent{memfs.New(memfs.Options{}), timeout}, files) {
			wantPath(t, err, pfs.Unavailable, files[i].Path)
		}
		if took := time.Since(began); took > 2*timeout {
			t.Errorf("took %v, which is %.0f timeouts", took, took.Seconds()/timeout.Seconds())
		}
	})
}

// TestLayersDoNotWaitForEachEntryOfABatch: each layer retries once with a store that is away, not
// once for each entry.
func TestLayersDoNotWaitForEachEntryOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 15 * time.Second
		var tree pfs.FileSystem = silent{memfs.New(memfs.Options{}), timeout}
		const layers = 3
		for range layers {
			tree = pfstest.NewSub(tree, "/")
		}
		var entries []pfs.BatchEntry
		for i := range 100 {
			entries = append(entries, pfs.BatchEntry{Path: pfs.Path(fmt.Sprint("/", i))})
		}
		began := time.Now()
		for i, err := range pfs.WriteBatch(t.Context(), tree, entries) {
			if !errors.Is(err, pfs.Unavailable) {
				t.Errorf("entry %d: %v", i, err)
			}
		}
		if took := time.Since(began); took > (1+layers)*timeout {
			t.Errorf("took %v, which is %.0f timeouts", took, took.Seconds()/timeout.Seconds())
		}
	})
}

// TestLayerSecondLookKeepsThePath: an entry that fails twice has the caller's path, once.
func TestLayerSecondLookKeepsThePath(t *testing.T) {
	store := newBatches()
	store.err = func(name pfs.Path) error { return pfs.E("test.WriteBatch", name, pfs.Unavailable, nil) }
	mux := pfs.NewMux(pfs.Mount{At: "/a", FS: store, Dir: "/"})
	errs := mux.WriteBatch(t.Context(), entriesOf("/a/no/f"))
	wantPath(t, errs[0], pfs.NotExist, "/a/no/f")
}

func TestLayerBatchIsRefusedByEntry(t *testing.T) {
	store := newBatches()
	l := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if name == "/secret" {
			return pfs.E("test.Interceptor", name, pfs.Permission, nil)
		}
		return call(store, name)
	})
	errs := l.WriteBatch(t.Context(), entriesOf("/secret", "/1", "/secret", "/2", "/secret"))
	for i, err := range errs {
		if (i%2 == 0) != errors.Is(err, pfs.Permission) {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	pfstest.WantNames(t, store, "/", "1", "2")
}
