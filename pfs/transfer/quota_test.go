package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestNothingStagedWithoutRoom copies a file that has no room when it is published:
// nothing is kept of it, which would take the room of other files for days.
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
		t.Errorf("%d staged writes of %d bytes are left, %v", n, bytes, err)
	}
}

// lastRoom refuses the first batch of files, while another that has room is on its way.
type lastRoom struct {
	*memfs.FS
	calls           atomic.Int64
	begun           sync.Once
	another, refuse chan struct{}
}

func (f *lastRoom) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	switch {
	case entries[0].Mode.IsDir():
		return f.FS.WriteBatch(ctx, entries)
	case f.calls.Add(1) == 1:
		<-f.another
		return slices.Repeat([]error{pfs.E("test.WriteBatch", entries[0].Path, pfs.Quota, nil)}, len(entries))
	}
	f.begun.Do(func() { close(f.another) })
	<-f.refuse
	select {
	case <-ctx.Done():
		return slices.Repeat([]error{pfs.E("test.WriteBatch", "", pfs.Canceled, ctx.Err())}, len(entries))
	case <-time.After(200 * time.Millisecond):
		return f.FS.WriteBatch(ctx, entries)
	}
}

// TestQuotaEndsNoBatchOnItsWay copies files of which there is room for some: those are counted.
func TestQuotaEndsNoBatchOnItsWay(t *testing.T) {
	const files = maxEntries + 100 // two batches, or more if they are slow to come
	source := memfs.New(memfs.Options{})
	target := &lastRoom{FS: memfs.New(memfs.Options{}), another: make(chan struct{}), refuse: make(chan struct{})}
	for i := range files {
		pfstest.WriteFile(t, source, pfs.Path(fmt.Sprintf("/f%d", i)), []byte("x"))
	}
	var refused sync.Once
	job, err := New(Options{Events: func(e Event) {
		if e.Kind == Failed {
			refused.Do(func() { close(target.refuse) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = job.Copy(t.Context(), End{FS: source, Path: "/"}, End{FS: target, Path: "/"})
	there := pfstest.Names(t, target.FS, "/")
	if s := job.Stats(); !errors.Is(err, pfs.Quota) || len(there) == 0 || int(s.FilesDone) != len(there) {
		t.Errorf("%d files are there, %d were told, %d failed: %v", len(there), s.FilesDone, s.Failed, err)
	}
}
