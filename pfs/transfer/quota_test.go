package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestNothingStagedWithoutRoom copies a file that exceeds the space at its commit: nothing of it is
// kept, because it would take space for days.
func TestNothingStagedWithoutRoom(t *testing.T) {
	source, target := memfs.New(memfs.Options{}), newFaulty(t)
	pfstest.WriteFile(t, source, "/f", pfstest.Pattern(1, pfs.ChunkSize+1))
	target.before = func(op string, name pfs.Path) error {
		if op == "commit" {
			return pfs.E("test.Commit", name, pfs.Quota, nil)
		}
		return nil
	}
	job, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = job.Copy(t.Context(), End{FS: source, Path: "/f"}, End{FS: target, Path: "/f"})
	if !errors.Is(err, pfs.Quota) {
		t.Errorf("got %v, want Quota", err)
	}
	if n, bytes, err := pfs.Sweep(t.Context(), target.FS, pfs.Root, 0); n != 0 || err != nil {
		t.Errorf("%d uploads of %d bytes are left, %v", n, bytes, err)
	}
}

// TestSmallerFilesFindRoom checks that a file that does not fit does not prevent smaller ones,
// alone or in a batch, and that files of its size are not tried.
func TestSmallerFilesFindRoom(t *testing.T) {
	const room = 1000
	for _, size := range []int{room + 1, maxSmall + 1} {
		source, target := memfs.New(memfs.Options{}), newFaulty(t)
		pfstest.MustMkdir(t, target.FS, "/d")
		must(t, target.SetQuota(t.Context(), "/d", room, 0))
		for i := range 50 {
			pfstest.WriteFile(t, source, pfs.Path(fmt.Sprintf("/f%d", i)), make([]byte, size))
		}
		for i := range 10 {
			pfstest.WriteFile(t, source, pfs.Path(fmt.Sprintf("/small%d", i)), make([]byte, room/10))
		}
		var failed []string
		job := newJob(t, Options{Parallel: 1, Events: func(e Event) {
			if e.Kind == Failed {
				failed = append(failed, e.Target.Base())
			}
		}})
		err := job.Copy(t.Context(), End{FS: source, Path: "/"}, End{FS: target, Path: "/d"})
		slices.Sort(failed)
		if s := job.Stats(); !errors.Is(err, pfs.Quota) || s.FilesDone != 10 || s.Failed != 50 || len(slices.Compact(failed)) != 50 || strings.HasPrefix(failed[49], "small") {
			t.Errorf("size %d: %v, %+v, %q failed", size, err, s, failed)
		}
		if n := target.creates.Load(); n > 20 {
			t.Errorf("size %d: %d files were tried", size, n)
		}
	}
}

// TestLastRoom copies two files with space for one. Neither fits while both are in transit, but one
// of them is copied.
func TestLastRoom(t *testing.T) {
	source, target := memfs.New(memfs.Options{}), newFaulty(t)
	for _, name := range []pfs.Path{"/f", "/g"} {
		pfstest.WriteFile(t, source, name, make([]byte, maxSmall+1))
	}
	var slow, tries, stored atomic.Int32
	another := make(chan struct{}, 4)
	target.before = func(op string, name pfs.Path) error {
		if op != "commit" {
			return nil
		}
		switch try := tries.Add(1); {
		case try == 1: // in transit until two others have been tried, or would have been
			slow.Add(1)
			for range 2 {
				select {
				case <-another:
				case <-time.After(20 * time.Millisecond):
				}
			}
			slow.Add(-1)
		case try > 2 && slow.Load() == 0 && stored.Add(1) == 1:
			return nil
		default:
			another <- struct{}{}
		}
		return pfs.E("test.Commit", name, pfs.NoSpace, nil)
	}
	job := newJob(t, Options{})
	err := job.Copy(t.Context(), End{FS: source, Path: "/"}, End{FS: target, Path: "/"})
	if s := job.Stats(); !errors.Is(err, pfs.NoSpace) || s.FilesDone != 1 || s.Failed != 1 {
		t.Errorf("%v, %+v, want one file copied and one failed", err, s)
	}
}
