package transfer

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	unitLeaves = 3
	unitBytes  = unitLeaves * chunk
	unitCount  = 8
)

// newUnits returns a source with a file of units, the last one short, and a target that
// wants them in order.
func newUnits(t *testing.T) (a, b *faulty, content []byte) {
	a, b = newFaulty(t), newFaulty(t)
	b.unit = unitBytes
	content = noise(5, unitCount*unitBytes-chunk/2)
	put(t, a, "/f", content)
	return a, b, content
}

// TestLostUnit loses every unit, more often than there are passes, just before it is complete. Each
// unit is sent again separately.
func TestLostUnit(t *testing.T) {
	const losses = retry.MaxRepairs
	a, b, content := newUnits(t)
	left := map[int64]int{}
	b.lose = func(op string, off int64) []int64 {
		unit := off / unitBytes
		if op != "write" || off%unitBytes != unitBytes-chunk || left[unit] == losses {
			return nil
		}
		left[unit]++
		return []int64{unit}
	}
	b.before = func(op string, _ pfs.Path) error {
		if op == "leaves" || op == "readback" {
			t.Errorf("%s: what is staged was asked for", op)
		}
		return nil
	}
	j := newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	checkFile(t, b, "/f", content)
	if got := b.creates.Load(); got != 1 {
		t.Errorf("%d uploads, want 1", got)
	}
	if got, most := a.read.Load(), int64((losses+1)*len(content)); got > most {
		t.Errorf("%d bytes were read, want %d at most", got, most)
	}
	if s := j.Stats(); s.BytesDone != int64(len(content)) || s.BytesResumed != 0 {
		t.Errorf("%d bytes done, %d of them resumed, of %d", s.BytesDone, s.BytesResumed, len(content))
	}
}

// TestLostUnitChanged reads other bytes when a unit is sent again: this is noticed, and the
// published file is one version.
func TestLostUnitChanged(t *testing.T) {
	a, b, content := newUnits(t)
	changed := false
	b.lose = func(op string, off int64) []int64 {
		if changed || op != "write" || off != 2*chunk {
			return nil
		}
		changed = true
		content[0] ^= 1
		put(t, a, "/f", content)
		return []int64{0}
	}
	must(t, newJob(t, Options{Parallel: 1}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	checkFile(t, b, "/f", content)
	if info, err := b.FS.Stat(context.Background(), "/f"); err != nil || digest.CheckKept("transfer.Copy", "/f", info, digest.Bytes(content)) != nil {
		t.Errorf("digest %s, %v", info.Digest, err)
	}
}

// TestPassesThatGain loses units at each commit, one less each time: the copy does not give up.
func TestPassesThatGain(t *testing.T) {
	a, b, content := newUnits(t)
	kept := int64(0)
	b.lose = func(op string, _ int64) (units []int64) {
		if op != "commit" {
			return nil
		}
		kept++
		for unit := kept; unit < unitCount; unit++ {
			units = append(units, unit)
		}
		return units
	}
	j := newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	checkFile(t, b, "/f", content)
	if kept != unitCount {
		t.Errorf("%d commits, want %d", kept, unitCount)
	}
}

// TestPassesInVain loses a unit always: at each write, or at each commit.
func TestPassesInVain(t *testing.T) {
	for _, op := range []string{"write", "commit"} {
		t.Run(op, func(t *testing.T) {
			a, b, _ := newUnits(t)
			losses := 0
			b.lose = func(now string, off int64) []int64 {
				if now != op || now == "write" && off != 4*unitBytes+chunk {
					return nil
				}
				losses++
				return []int64{4}
			}
			checkKind(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}), pfs.Integrity)
			checkAbsent(t, b, "/f")
			want := 1 + retry.MaxRepairs
			if op == "commit" {
				want++ // the second pass finds the bytes that the first has sent
			}
			if losses != want {
				t.Errorf("lost %d times before it was given up, want %d", losses, want)
			}
		})
	}
}
