package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// TestTries counts the attempts of operations that always fail: every command makes the same
// number, whatever the layers between the command and the store.
func TestTries(t *testing.T) {
	const size = 2*chunk + 5
	copyFile := func(ctx context.Context, a, b pfs.FileSystem) error {
		j, _ := New(Options{Parallel: 1})
		return j.Copy(ctx, End{a, "/d/f"}, End{b, "/d/f"})
	}
	mirror := func(ctx context.Context, a, b pfs.FileSystem) error {
		j, _ := New(Options{Delete: true})
		return j.Copy(ctx, End{a, "/d"}, End{b, "/d"})
	}
	stream := func(ctx context.Context, a, b pfs.FileSystem) error {
		j, _ := New(Options{})
		_, err := j.FromReader(ctx, End{b, "/d/f"}, bytes.NewReader(noise(7, size)), pfs.CommitOptions{})
		return err
	}
	outputs := func(ctx context.Context, a, b pfs.FileSystem) error { // as conversions write
		outs := NewOutputs(ctx, OutputOptions{})
		defer outs.Abort()
		o, err := outs.Create("f", End{b, "/d/f"})
		if err == nil {
			_, err = o.Write(noise(7, size))
		}
		if err == nil {
			err = o.Finish()
		}
		return err
	}
	verify := func(ctx context.Context, a, b pfs.FileSystem) error {
		j, _ := New(Options{Kept: true})
		return j.Verify(ctx, End{a, "/d"}, End{b, "/d"})
	}
	const repaired = 1 + retry.MaxRepairs
	for _, tt := range []struct {
		command string
		do      func(ctx context.Context, a, b pfs.FileSystem) error
		op      string // that always fails
		unit    int64
		kind    pfs.Kind
		want    int // 0: as often as there is time for in a minute
	}{
		{"cp", copyFile, "write", 0, pfs.Integrity, repaired},
		{"cp", copyFile, "write", 0, pfs.Conflict, repaired + 1}, // the second attempt finds the bytes of the first
		{"cp", copyFile, "write", 3 * chunk, pfs.Integrity, repaired},
		{"cp", copyFile, "write", 3 * chunk, pfs.Conflict, repaired},
		{"cp", copyFile, "commit", 0, pfs.Integrity, repaired},
		{"cp", copyFile, "write", 0, pfs.Permission, 1},
		{"cp", copyFile, "write", 0, pfs.Unavailable, 0},
		{"cp", copyFile, "create", 0, pfs.Unavailable, 0},
		{"cp", copyFile, "commit", 0, pfs.Unavailable, 0},
		{"sync", mirror, "write", 0, pfs.Integrity, repaired},
		{"sync", mirror, "write", 3 * chunk, pfs.Conflict, repaired},
		{"sync", mirror, "stat", 0, pfs.Unavailable, 0},
		{"cp -", stream, "write", 0, pfs.Integrity, repaired},
		{"cp -", stream, "write", 0, pfs.Conflict, repaired},
		{"cp -", stream, "write", 2 * chunk, pfs.Integrity, repaired},
		{"cp -", stream, "write", 2 * chunk, pfs.Conflict, repaired},
		{"cp -", stream, "commit", 0, pfs.Integrity, repaired},
		{"cp -", stream, "write", 0, pfs.Unavailable, 0},
		{"cp -", stream, "write", 2 * chunk, pfs.Unavailable, 0},
		{"convert", outputs, "write", 0, pfs.Integrity, repaired},
		{"convert", outputs, "write", 2 * chunk, pfs.Conflict, repaired},
		{"convert", outputs, "sync", 0, pfs.Conflict, repaired},
		{"convert", outputs, "write", 2 * chunk, pfs.Unavailable, 0},
		{"verify", verify, "list", 0, pfs.Unavailable, 0},
		{"verify", verify, "stat", 0, pfs.Unavailable, 0},
	} {
		t.Run(fmt.Sprintf("%s %s %d %v", tt.command, tt.op, tt.unit, tt.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newFaulty(t), newFaulty(t)
				b.unit = tt.unit
				put(t, a, "/d/f", noise(7, size))
				must(t, b.Mkdir(t.Context(), "/d", 0o755))
				var mu sync.Mutex
				tries := map[string]int{}
				b.failing = func(op string, name pfs.Path, off int64) error {
					if op != tt.op || op == "write" && off != chunk {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					tries[string(name)]++
					return pfs.E("test", name, tt.kind, nil)
				}
				began := time.Now()
				budget := retry.New(retry.Default, nil)
				err := tt.do(retry.With(t.Context(), budget), a, b)
				if !errors.Is(err, tt.kind) {
					t.Fatalf("got %v, want %v", err, tt.kind)
				}
				took, most := time.Since(began), 0
				for _, n := range tries {
					most = max(most, n)
				}
				if tt.want == 0 {
					// 100 ms, doubled up to 3 s, of which half is random
					if most < 20 || most > 45 || (took-time.Minute).Abs() > 6*time.Second {
						t.Errorf("%d tries in %v, want 20 to 45 in a minute", most, took)
					}
				} else if most != tt.want || took > 20*time.Second {
					t.Errorf("%d tries in %v, want %d in 20 s at most", most, took, tt.want)
				}
			})
		})
	}
}
