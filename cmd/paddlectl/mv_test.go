package main

import (
	"errors"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// A source that was written again while it was copied is not removed, also if neither
// its size nor the second of its time tells.
func TestMoveRemovesWhatWasCopied(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	for _, c := range []struct {
		name         string
		copied, then time.Time // of the target, and of the source when it is to be removed
		kept         bool
	}{
		{"nanoseconds", at, at, false},
		{"milliseconds", at.Truncate(time.Millisecond), at, false},
		{"seconds", at.Truncate(time.Second), at, false},
		{"written again", at, at.Add(1), true},
		{"written again, milliseconds", at.Truncate(time.Millisecond), at.Add(2 * time.Millisecond), true},
		{"written again, seconds", at.Truncate(time.Second), at.Add(time.Second), true},
	} {
		from, to := transfer.End{FS: memfs.New(memfs.Options{}), Path: "/a"}, transfer.End{FS: memfs.New(memfs.Options{}), Path: "/b"}
		for end, when := range map[transfer.End]time.Time{from: c.then, to: c.copied} {
			pfstest.WriteFileWith(t, end.FS, end.Path, []byte("text"), pfs.CommitOptions{ModTime: when})
		}
		err := new(mover).removeFile(t.Context(), from, to, pfstest.MustStat(t, from.FS, from.Path))
		if errors.Is(err, pfs.Conflict) != c.kept || err != nil && !c.kept {
			t.Errorf("%s: got %v, want it kept: %v", c.name, err, c.kept)
		}
		if _, err := from.FS.Stat(t.Context(), from.Path); errors.Is(err, pfs.NotExist) == c.kept {
			t.Errorf("%s: stat of the source: %v", c.name, err)
		}
	}
}
