package localfs

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestCopyTakesTurns interrupts a copy after some turns and resumes it: each turn copies at most
// copyStep bytes, and no chunk is held in memory.
func TestCopyTakesTurns(t *testing.T) {
	if !testbed.InOwnProcess(t) {
		return
	}
	f, _ := openStore(t, Options{})
	data := pfstest.Pattern(1, 2*pfs.ChunkSize+123)
	pfstest.WriteFile(t, f, "/f", data)
	stop := errors.New("no turn")
	copyWith := func(turns int64) (copied, taken int64, err error) {
		var count atomic.Int64 // the digest is computed in parallel
		ctx := pfs.WithTurns(t.Context(), func(context.Context) (func(), error) {
			if count.Add(1) > turns {
				return nil, stop
			}
			return func() {}, nil
		})
		_, err = f.CopyFile(ctx, "/f", "/copy", pfs.CopyOptions{ID: id}, func(done int64) { copied = done })
		return copied, min(count.Load(), turns), err
	}

	copied, taken, err := copyWith(pfs.ChunkSize / copyStep)
	if err == nil && taken == 0 {
		t.Skip("the file system shares blocks")
	}
	if !errors.Is(err, stop) || copied > pfs.ChunkSize {
		t.Fatalf("with as many turns as a chunk takes, %d bytes were copied: %v", copied, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, taken, err = copyWith(1000)
	runtime.ReadMemStats(&after)
	must(t, err)
	if taken < int64(2*len(data)/copyStep) {
		t.Errorf("%d turns, for copying, comparing and reading back", taken)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > pfs.ChunkSize && !raceDetector {
		t.Errorf("to go on with a copy takes %d bytes of memory", n)
	}
	pfstest.WantFile(t, f, "/copy", data)
}
