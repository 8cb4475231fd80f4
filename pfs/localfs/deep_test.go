package localfs

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// onPath does every operation on name, whose directory exists, and on the entries that it needs
// beside it.
func onPath(t *testing.T, f *FS, name pfs.Path, do func(op string, call func() error)) {
	ctx, dir := t.Context(), name.Parent()
	below := name + pfs.Path(strings.Repeat("/x", 500))
	do("Create", func() error { return publish(t, f, name, 10) })
	do("Stat", func() error { _, err := f.Stat(ctx, name); return err })
	do("List", func() error { _, err := f.List(ctx, dir, pfs.ListOptions{}); return err })
	do("Open", func() error {
		r, err := f.Open(ctx, name)
		if err == nil {
			err = r.Close()
		}
		return err
	})
	do("Edit", func() error { return edit(t, f, name) })
	do("Digest", func() error { _, err := f.Digest(ctx, name, "xxh3", nil); return err })
	do("Chmod", func() error { return pfs.SetAttr(ctx, f, name, pfs.AttrMode, pfs.Attrs{Mode: 0o600}) })
	do("Chtime", func() error { return pfs.SetAttr(ctx, f, name, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}) })
	do("Symlink", func() error { return f.Symlink(ctx, "x", name+"-link") })
	do("Mkdir", func() error { return f.Mkdir(ctx, name+"-dir", 0o755) })
	do("Mkdir of what is there", func() error { return f.Mkdir(ctx, dir, 0o755) })
	do("CopyFile", func() error { _, err := f.CopyFile(ctx, name, name+"-copy", pfs.CopyOptions{}, nil); return err })
	do("Rename", func() error { return f.Rename(ctx, name+"-copy", name+"-moved") })
	do("RenameExclusive", func() error { return f.RenameExclusive(ctx, name+"-moved", name+"-copy") })
	do("WriteBatch", func() error {
		return f.WriteBatch(ctx, []pfs.BatchEntry{{Path: name + "-1"}, {Path: name + "-2"}, {Path: name + "-dir2", Mode: fs.ModeDir | 0o755}})[2]
	})
	do("Space", func() error { _, err := f.Space(ctx, dir); return err })
	do("Space of what is missing", func() error { _, err := f.Space(ctx, below); return err })
	do("Usage", func() error { _, err := f.Usage(ctx, dir); return err })
	do("Usage from the top", func() error { _, err := f.Usage(ctx, pfs.Root); return err })
	do("SetQuota", func() error { return f.SetQuota(ctx, dir, 1<<30, 1<<30) })
	do("Create with quota", func() error { return publish(t, f, name, 20) })
	do("Sweep", func() error { _, _, err := f.Sweep(ctx, dir, 0); return err })
	do("Sweep from the top", func() error { _, _, err := f.Sweep(ctx, pfs.Root, 0); return err })
	do("Remove", func() error { return f.Remove(ctx, name) })
	do("RemoveTree", func() error { return f.RemoveTree(ctx, name+"-dir") })
	do("RemoveTree from the top", func() error { return f.RemoveTree(ctx, "/d") })
}

// TestDeepPathsAreLinear counts the lookups of each operation on a deep file: a few names per
// level. Starting from the top for each level would need half a million here.
func TestDeepPathsAreLinear(t *testing.T) {
	const depth, aLevel, beside = 1000, 6, 1000
	for kind, open := range ways {
		t.Run(kind, func(t *testing.T) {
			f, w := watchStore(t, open)
			makeChain(t, f, depth).Close()
			onPath(t, f, pfs.Path(strings.Repeat("/d", depth)+"/f"), func(op string, call func() error) {
				n := w.lookupsOf(func() {
					if err := call(); err != nil {
						t.Errorf("%s: %v", op, err)
					}
				})
				if n > depth*aLevel+beside {
					t.Errorf("%s of a path of %d elements looked up %d names", op, depth, n)
				}
			})
			if n := w.open.Load(); n != 1 {
				t.Errorf("%d directories are still open, want only the top", n)
			}
		})
	}
}

// makeChain makes a directory "d" in the top, one in that, and so on, and returns the last one.
func makeChain(t testing.TB, f *FS, levels int) dir {
	t.Helper()
	d, err := f.openDir("")
	must(t, err)
	for range levels {
		d = enterNew(t, d, "d")
	}
	return d
}

// enterNew makes the directory name in d, opens it and closes d.
func enterNew(t testing.TB, d dir, name string) dir {
	t.Helper()
	must(t, d.mkdir(name, 0o755))
	sub, err := d.open(name)
	must(t, err)
	must(t, d.Close())
	return sub
}

// plant makes the file name of size bytes in d.
func plant(t testing.TB, d dir, name string, size int64) {
	t.Helper()
	h, err := d.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	must(t, err)
	must(t, h.Truncate(size))
	must(t, h.Close())
}

// TestVeryDeepTree counts, sweeps and removes a tree with more levels than a Path may have
// elements, or a process open files.
func TestVeryDeepTree(t *testing.T) {
	const depth = 4000
	for kind, open := range ways {
		t.Run(kind, func(t *testing.T) { veryDeepTree(t, open, depth) })
	}
}

func veryDeepTree(t *testing.T, open func(string, bool) (dir, error), depth int) {
	f, w := watchStore(t, open)
	last := makeChain(t, f, depth)
	plant(t, last, "file", 1000)
	plant(t, last, digest.StagedName("f", id), 500)
	must(t, last.Close())
	must(t, f.SetQuota(t.Context(), "/d", 1<<30, 0))

	few := func(op string, do func()) {
		w.most.Store(0)
		if n := w.lookupsOf(do); n > int64(6*depth) {
			t.Errorf("%s looked up %d names", op, n)
		}
		if n := w.most.Load(); n > 150 {
			t.Errorf("%s had %d directories open at once", op, n)
		}
	}
	few("Usage of a tree without quota", func() { wantUsage(t, f, "/", 1500, 1, int64(depth)) })
	few("Usage of a tree with quota", func() { wantUsage(t, f, "/d", 1500, 1, int64(depth-1)) })
	few("Sweep", func() {
		n, bytes, err := f.Sweep(t.Context(), "/", 0)
		if n != 1 || bytes != 500 || err != nil {
			t.Errorf("Sweep = %d, %d, %v, want 1, 500", n, bytes, err)
		}
	})
	wantUsage(t, f, "/d", 1000, 1, int64(depth-1))
	few("RemoveTree", func() { must(t, f.RemoveTree(t.Context(), "/d")) })
	pfstest.WantNames(t, f, "/")
}

// TestWalkIsLinear walks a tree whose wide directories are below deep ones: going up again must not
// cost the whole way down.
func TestWalkIsLinear(t *testing.T) {
	const trunk, branches, length = 300, 40, 2 * walkOpen
	f, w := watchStore(t, openTop)
	at := makeChain(t, f, trunk)
	for i := range branches {
		must(t, at.mkdir(fmt.Sprint(i), 0o755))
		b, err := at.open(fmt.Sprint(i))
		must(t, err)
		for range length {
			b = enterNew(t, b, "d")
		}
		must(t, b.Close())
	}
	must(t, at.Close())
	const dirs = trunk + branches*(length+1)
	if n := w.lookupsOf(func() { wantUsage(t, f, "/", 0, 0, dirs) }); n > 3*dirs {
		t.Errorf("a walk over %d directories opened %d", dirs, n)
	}
}

// TestWalkMoved replaces a directory far above the position of a walk. The walk, which enters "d"
// before "beside", must neither enter the new directory nor miss the rest further up.
func TestWalkMoved(t *testing.T) {
	const depth, moved = 5 * walkOpen, 10
	f, _ := watchStore(t, openTop)
	at, err := f.openDir("")
	must(t, err)
	for range depth {
		must(t, at.mkdir("beside", 0o755))
		beside, err := at.open("beside")
		must(t, err)
		plant(t, beside, "file", 0)
		must(t, beside.Close())
		at = enterNew(t, at, "d")
	}
	plant(t, at, "bottom", 0)
	must(t, at.Close())

	above := pfs.Path(strings.Repeat("/d", moved))
	top, err := f.openDir("")
	must(t, err)
	defer top.Close()
	seen := map[string]int{}
	w := walker{f: f, visit: func(_ place, name string, _ stat) (bool, error) {
		if seen[name]++; name == "bottom" {
			must(t, f.Rename(t.Context(), above, "/elsewhere"))
			for _, dir := range []pfs.Path{above, above.Join("d")} {
				must(t, f.Mkdir(t.Context(), dir, 0o755))
				must(t, f.Mkdir(t.Context(), dir.Join("beside"), 0o755))
				write(t, f, dir.Join("beside/stranger"), 1)
			}
		}
		return true, nil
	}}
	must(t, w.walk(t.Context(), place{dir: top}))
	if seen["bottom"] != 1 || seen["stranger"] != 0 {
		t.Errorf("seen are %v", seen)
	}
	if seen["file"] < moved || seen["beside"] != depth {
		t.Errorf("%d of the %d directories above what was moved were entered", seen["file"], moved)
	}
}

// TestWalkNamesAreBounded makes a walk hold many names at once.
func TestWalkNamesAreBounded(t *testing.T) {
	w := walker{levels: []level{{}}, pending: maxPending + 1, visit: func(place, string, stat) (bool, error) { return true, nil }}
	f, _ := watchStore(t, openTop)
	for i := range 10 * fewNames {
		must(t, f.Mkdir(t.Context(), pfs.Root.Join(fmt.Sprint(i)), 0o755))
	}
	top, err := f.openDir("")
	must(t, err)
	defer top.Close()
	w.levels[0].dir = top
	must(t, w.page(t.Context()))
	if n := w.pending - maxPending - 1; n > fewNames {
		t.Errorf("a walk that holds too many names read %d more", n)
	}
}
