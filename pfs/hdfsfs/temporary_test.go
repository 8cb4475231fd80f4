package hdfsfs

import (
	"path"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestTemporaryNames(t *testing.T) {
	now := time.Unix(1795252470, 0)
	if got, ok := temporarySince(temporaryName(tempFile, now)); !ok || !got.Equal(now) {
		t.Errorf("a name made at %v reads as made at %v, %v", now, got, ok)
	}
	for _, name := range []string{"", "b-" + pfs.NewID(), "c-1-" + pfs.NewID(), "b-!-" + pfs.NewID(), "cnb-0123456789abcdef-" + pfs.NewID()} {
		if got, ok := temporarySince(name); ok {
			t.Errorf("%q reads as made at %v", name, got)
		}
	}
}

// TestSweepTemporary removes the temporaries of an interrupted batch, whatever the age passed
// to Sweep and the target directory. It keeps those of a running batch and of other owners.
func TestSweepTemporary(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	must(t, f.Mkdir(t.Context(), "/d", 0o777))
	owner := func(name string) *FS {
		tree, err := pfs.WithOwner(f, pfs.Owner{Name: name})
		must(t, err)
		return tree.(*FS)
	}
	ann, bob := owner("ann"), owner("bob")
	leave := func(f *FS, prefix string, age time.Duration) {
		at := path.Join(f.stage.home(), temporaryName(prefix, time.Now().Add(-age)))
		must(t, f.stage.within(t.Context(), func() error {
			if prefix == tempDir {
				return f.keepDir(t.Context(), at, 0o700)
			}
			l, err := f.layout(t.Context())
			if err != nil {
				return err
			}
			a, err := f.begin(t.Context(), at, l)
			if err != nil {
				return err
			}
			return a.close(t.Context())
		}))
	}
	for _, f := range []*FS{ann, bob} {
		leave(f, tempFile, 0)
		leave(f, tempFile, digest.TempAge+time.Minute)
		leave(f, tempDir, digest.TempAge+time.Minute)
	}
	for _, step := range []struct {
		f    *FS
		age  time.Duration
		want int
	}{{ann, 0, 2}, {ann, 0, 0}, {f, 7 * 24 * time.Hour, 2}, {f, 0, 0}} {
		if n, _, err := step.f.Sweep(t.Context(), "/d", step.age); n != step.want || err != nil {
			t.Errorf("Sweep by %q of the age %v = %d, %v, want %d", step.f.stageUser(), step.age, n, err, step.want)
		}
	}
	for _, f := range []*FS{ann, bob} {
		if left, err := f.entries(t.Context(), f.stage.home()); len(left) != 1 || err != nil {
			t.Errorf("%q has %d temporaries, %v, want the fresh one", f.stageUser(), len(left), err)
		}
	}
	pfstest.WantNames(t, f, "/d")
}
