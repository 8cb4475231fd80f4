//go:build ceph

package cephfs

import (
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

func TestBatchTempNames(t *testing.T) {
	now := time.Unix(1795252470, 0)
	if got, ok := batchTempSince(newBatchTemp(now)); !ok || !got.Equal(now) || !pfs.IsTemp(newBatchTemp(now), 0o600) {
		t.Errorf("a name made at %v reads as made at %v, %v", now, got, ok)
	}
	for _, name := range []string{"", "b-1-x", digest.StagedName("f", pfs.NewID()), pfs.BatchPrefix + pfs.NewID(), pfs.BatchPrefix + "!-x"} {
		if got, ok := batchTempSince(name); ok {
			t.Errorf("%q reads as made at %v", name, got)
		}
	}
}

// TestSweepBatchTemps: Sweep removes leftovers of an interrupted batch regardless of the given age,
// and no file of a running batch, regardless of the file's time.
func TestSweepBatchTemps(t *testing.T) {
	one := openStore(t, optionsOf(testbed.Ceph(t)))
	top := newDir(t, one)
	old, fresh := newBatchTemp(time.Now().Add(-digest.TempAge-time.Minute)), newBatchTemp(time.Now())
	for _, name := range []string{old, fresh} {
		err := one.change(t.Context(), "test", top.Join("f"), func(d *dir, _ string) error {
			h, _, err := d.create(name, 0o600, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL)
			if err == nil {
				h.drop()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		age  time.Duration
		want int
	}{{7 * 24 * time.Hour, 1}, {0, 0}} {
		if n, _, err := one.Sweep(t.Context(), top, step.age); n != step.want || err != nil {
			t.Errorf("Sweep of the age %v = %d, %v, want %d", step.age, n, err, step.want)
		}
	}
}
