package dataset

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// TestStagingHasOneOwner begins two runs that have both found nothing in the way: only one of them
// gets the directory. Otherwise the set would have shards of both.
func TestStagingHasOneOwner(t *testing.T) {
	ctx, fsys := t.Context(), memfs.New(memfs.Options{})
	never := func() { t.Error("a claim was lost") }
	silent := func(string) {}
	first := newStagingDir(fsys, "/.x.convert", []byte("a"), time.Hour)
	second := newStagingDir(fsys, "/.x.convert", []byte("b"), time.Hour)
	if err := first.begin(ctx, silent, never); err != nil {
		t.Fatal(err)
	}
	if err := second.begin(ctx, silent, never); !errors.Is(err, pfs.Exist) || !strings.Contains(err.Error(), "another run has begun") {
		t.Errorf("the second: %v", err)
	}
	if err := first.claim.held(ctx); err != nil {
		t.Errorf("the first: %v", err)
	}
	if a, b := first.part(7), second.part(7); a == b {
		t.Errorf("both write %v", a)
	}
	if err := first.remove(ctx); err != nil {
		t.Fatal(err)
	}
	if err := first.claim.held(ctx); !errors.Is(err, pfs.Conflict) {
		t.Errorf("without its directory: %v", err)
	}
}

// TestStagingOfAKilledRun resumes a killed run. If it was only suspended, it notices that it has
// lost the directory.
func TestStagingOfAKilledRun(t *testing.T) {
	ctx, fsys := t.Context(), memfs.New(memfs.Options{})
	var told []string
	tell := func(text string) { told = append(told, text) }
	killed := newStagingDir(fsys, "/.x.convert", []byte("a"), time.Hour)
	lost := make(chan struct{})
	if err := killed.begin(ctx, tell, func() { close(lost) }); err != nil {
		t.Fatal(err)
	}
	killed.claim.rest()
	for _, w := range []*stagingDir{
		newStagingDir(fsys, "/.x.convert", []byte("a"), time.Millisecond),
		newStagingDir(fsys, "/.x.convert", []byte("a"), time.Millisecond),
	} {
		w.resumed = true
		if err := w.begin(ctx, tell, func() {}); err != nil {
			t.Fatal(err)
		}
		w.claim.rest()
	}
	if len(told) != 2 {
		t.Errorf("told %q, want that each waits", told)
	}
	if err := killed.note(ctx, 0, finishedShard{}); !errors.Is(err, pfs.Conflict) {
		t.Errorf("the killed run notes a shard: %v", err)
	}
	killed.claim.lease = time.Millisecond
	killed.claim.keep(ctx, func() { close(lost) })
	<-lost
	if err := killed.claim.release(ctx); err != nil {
		t.Error(err)
	}
	if there, err := pfs.Exists(ctx, fsys, killed.claim.path); err != nil || !there {
		t.Errorf("it gave away the claim of another: %v, %v", there, err)
	}
}

// TestStagingReleased begins at once if the earlier run ended in order.
func TestStagingReleased(t *testing.T) {
	ctx, fsys := t.Context(), memfs.New(memfs.Options{})
	before := newStagingDir(fsys, "/.x.convert", []byte("a"), time.Hour)
	told := func(text string) { t.Error("told " + text) }
	if err := before.begin(ctx, told, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := before.claim.release(ctx); err != nil {
		t.Fatal(err)
	}
	next := newStagingDir(fsys, "/.x.convert", []byte("a"), time.Hour)
	next.resumed = true
	if err := next.begin(ctx, told, func() {}); err != nil {
		t.Error(err)
	}
	next.claim.rest()
}

func TestIsPart(t *testing.T) {
	for name, want := range map[string]bool{
		"00007.1234567890": true, "00008.1234567890": false, "00007": false, "00007.": false, "": false,
		"00007.123456789": false, "00007./../../etc": false, "../x": false,
	} {
		if got := isPart(name, 7); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestNothingIsLeft lets each file of a new staging directory fail, as on a full disk: a run that has
// finished nothing leaves nothing, so the next one needs no option.
func TestNothingIsLeft(t *testing.T) {
	for _, name := range []string{jobName, claimedName, planName} {
		for _, workers := range []int{0, 2} {
			if name == planName && workers == 0 {
				continue
			}
			b := newPartsBench(t, Options{LineCount: 1}, map[string]string{"a.txt": "a\n"})
			full := pfs.NewLayer(func(_ context.Context, a pfs.Access, p pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
				if p.Base() == name && a != pfs.Read {
					return pfs.E("test", p, pfs.NoSpace, nil)
				}
				return call(b.fsys, p)
			})
			o := b.at("/out")
			o.Dir.FS = full
			begin := func() (err error) {
				if workers == 0 {
					_, err = Convert(t.Context(), o)
				} else {
					_, _, err = BeginParts(t.Context(), o, workers)
				}
				return err
			}
			if err := begin(); !errors.Is(err, pfs.NoSpace) {
				t.Errorf("%s, %d workers: %v", name, workers, err)
			}
			if there, err := pfs.Exists(t.Context(), b.fsys, "/out"); err != nil || there {
				t.Errorf("%s, %d workers: the directory is left", name, workers)
			}
			o.Dir.FS = b.fsys
			if err := begin(); err != nil {
				t.Errorf("%s, %d workers: the next run: %v", name, workers, err)
			}
		}
	}
}

// TestAlreadyBesideARun resumes a conversion whose set is complete while another run, which replaces
// the set by the same, is at work.
func TestAlreadyBesideARun(t *testing.T) {
	b := newPartsBench(t, Options{LineCount: 1}, map[string]string{"a.txt": "a\n"})
	o := b.at("/out")
	if _, err := Convert(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	checked, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	in, err := findInputs(t.Context(), checked)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	other, err := openStaging(t.Context(), &conversion{o: checked, in: in})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.begin(t.Context(), o.Tell, func() { t.Error("the claim was lost") }); err != nil {
		t.Fatal(err)
	}
	o.Resume = true
	if r, err := Convert(t.Context(), o); !errors.Is(err, pfs.Exist) {
		t.Errorf("beside a run at work: %+v, %v", r, err)
	}
	if err := other.claim.held(t.Context()); err != nil {
		t.Error(err)
	}
	other.claim.rest() // it is killed
	if r, err := Convert(t.Context(), o); err != nil || !r.Already {
		t.Errorf("after a killed run: %+v, %v", r, err)
	}
	if there, err := pfs.Exists(t.Context(), b.fsys, other.dir); err != nil || there {
		t.Error("its directory is left", err)
	}
}
