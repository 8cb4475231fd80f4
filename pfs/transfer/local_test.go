package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// openDir returns a directory as a store.
func openDir(t testing.TB) *localfs.FS {
	t.Helper()
	return openLocal(t, t.TempDir())
}

func openLocal(t testing.TB, dir string) *localfs.FS {
	t.Helper()
	fsys, err := localfs.New(dir, localfs.Options{NoSync: true, FollowLinks: true})
	must(t, err)
	t.Cleanup(func() { fsys.Close() })
	return fsys
}

// TestResumeDownload interrupts a copy to a local directory: leaves in the journal are not read
// from the source again.
func TestResumeDownload(t *testing.T) {
	const leaves = 26
	a, b := newFaulty(t), openDir(t)
	want := noise(2, leaves*chunk-11)
	put(t, a, "/f", want)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var reads atomic.Int64
	a.before = func(op string, _ pfs.Path) error {
		if op == "read" && reads.Add(1) == 22 {
			cancel()
		}
		return nil
	}
	checkKind(t, newJob(t, Options{}).Copy(ctx, End{a, "/f"}, End{b, "/f"}), pfs.Canceled)
	checkAbsent(t, b, "/f")
	a.before = nil
	a.read.Store(0)
	j := newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	checkFile(t, b, "/f", want)
	if got := a.read.Load(); got > (leaves-16)*chunk {
		t.Errorf("the second run read %d leaves of %d", got/chunk, leaves)
	}
	info, err := b.Stat(context.Background(), "/f")
	if err != nil || info.Size != int64(len(want)) || !info.ModTime.Equal(past) {
		t.Errorf("got %+v, %v", info, err)
	}
}

// TestLocalTree copies a tree between directories, with links as the operating
// system follows them.
func TestLocalTree(t *testing.T) {
	a, b := openDir(t), openDir(t)
	plant(t, a, "/s/f", "/s/sub/g", "/s/link->sub", "/s/e/", "/s/loop->..")
	put(t, a, "/s/big", noise(3, 2*chunk+9))
	for range 2 {
		j := newJob(t, Options{})
		err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
		if s := j.Stats(); err == nil || s.Failed != 1 {
			t.Errorf("got %v, %+v", err, s)
		}
		if got, want := tree(t, b, "/d"), "big e/ f link/ link/g sub/ sub/g"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	checkFile(t, b, "/d/big", noise(3, 2*chunk+9))
	if err := a.Remove(context.Background(), "/s/loop"); err != nil {
		t.Fatal(err)
	}
	j := newJob(t, Options{Delete: true})
	must(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if s := j.Stats(); s.Skipped != 4 || s.FilesDone != 0 {
		t.Errorf("got %+v", s)
	}
	must(t, newJob(t, Options{}).Verify(context.Background(), End{a, "/s"}, End{b, "/d"}))

	// The target is reached through a link, which the operating system follows.
	plant(t, b, "/real/f", "/through->real")
	must(t, newJob(t, Options{Overwrite: NoReplace}).Copy(context.Background(), End{a, "/s"}, End{b, "/through"}))
	checkFile(t, b, "/real/f", []byte("/real/f"))
	checkFile(t, b, "/real/sub/g", []byte("/s/sub/g"))
}

// TestCopiesLeaveNothingOpen counts the descriptors of a program after copies that ended
// well, of files and of a stream.
func TestCopiesLeaveNothingOpen(t *testing.T) {
	const fds = "/proc/self/fd"
	count := func() int {
		entries, err := os.ReadDir(fds)
		if err != nil {
			t.Skip("open descriptors cannot be counted here: ", err)
		}
		return len(entries)
	}
	source := memfs.New(memfs.Options{})
	for i := range 20 {
		put(t, source, pfs.Path(fmt.Sprintf("/d/f%d", i)), noise(uint64(i), maxSmall+1))
	}
	target := openDir(t)
	before := count()
	must(t, newJob(t, Options{}).Copy(t.Context(), End{source, "/d"}, End{target, "/d"}))
	if n := count() - before; n > 2 {
		t.Errorf("%d descriptors are open after a copy of 20 files", n)
	}
	_, err := newJob(t, Options{}).FromReader(t.Context(), End{target, "/stream"}, strings.NewReader("text"), pfs.CommitOptions{})
	must(t, err)
	if n := count() - before; n > 2 {
		t.Errorf("%d descriptors are open after a stream", n)
	}
}

// TestComparedInGroups checks that only the changed ones of many small local files are copied
// again.
func TestComparedInGroups(t *testing.T) {
	dir := t.TempDir()
	a, b := openLocal(t, dir), memfs.New(memfs.Options{})
	const n = 300
	for i := range n {
		put(t, b, pfs.Path(fmt.Sprintf("/d/f%d", i)), noise(uint64(i), 1000))
		// A file that this store did not write has no mark.
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), noise(uint64(i+i%100/99), 1000), 0o640))
	}
	j := newJob(t, Options{})
	must(t, j.Copy(t.Context(), End{a, "/"}, End{b, "/d"}))
	if s := j.Stats(); s.FilesDone != n/100 || s.Skipped != n-n/100 || s.Failed != 0 {
		t.Errorf("got %+v", s)
	}
	for i := range n {
		checkFile(t, b, pfs.Path(fmt.Sprintf("/d/f%d", i)), noise(uint64(i+i%100/99), 1000))
	}
}

// TestMirrorNamesWhatStays checks that Delete reports entries of the target that it cannot delete,
// and so does a dry run.
func TestMirrorNamesWhatStays(t *testing.T) {
	for _, dry := range []bool{false, true} {
		for name, tc := range map[string]struct {
			target []string
			o      Options
			kind   pfs.Kind
			about  pfs.Path
		}{
			"link to a directory":      {[]string{"/real/extra", "/d/sub->../real"}, Options{}, pfs.Symlink, "/d/sub"},
			"link, filtered":           {[]string{"/real/extra", "/d/sub->../real"}, Options{Filter: []Rule{{true, "*.log"}}}, pfs.Symlink, "/d/sub"},
			"file":                     {[]string{"/d/sub", "/d/extra"}, Options{}, pfs.NotDir, "/d/sub"},
			"name in an old directory": {[]string{"/d/sub/", "/d/old/x\xff"}, Options{Filter: []Rule{{true, "*.log"}}}, pfs.Invalid, "/d/old"},
		} {
			t.Run(fmt.Sprint(name, dry), func(t *testing.T) {
				dir := t.TempDir()
				a, b := openDir(t), openLocal(t, dir)
				plant(t, a, "/s/f", "/s/sub/g")
				for _, p := range tc.target {
					if bad, ok := strings.CutSuffix(p, "\xff"); ok {
						must(t, os.MkdirAll(filepath.Dir(dir+bad), 0o755))
						must(t, os.WriteFile(dir+p, nil, 0o644))
						continue
					}
					plant(t, b, p)
				}
				tc.o.Delete, tc.o.DryRun = true, dry
				err := newJob(t, tc.o).Copy(t.Context(), End{a, "/s"}, End{b, "/d"})
				var left *Incomplete
				var e *pfs.Error
				if !errors.As(err, &left) || !errors.As(left.First, &e) || e.Kind != tc.kind || e.Path != tc.about {
					t.Fatalf("got %v, want one about %s", err, tc.about)
				}
			})
		}
	}
}
