package transfer

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// TestRandomFaults copies a file and a tree while operations fail at random, bits flip, uploads get
// lost and runs are interrupted. After each run every target is absent, old, or whole and correct.
// When the faults end, the copy succeeds.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomFaults(t, seed) })
	}
}

func randomFaults(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	a, b := newFaulty(t), newFaulty(t)
	b.wire = seed%2 == 0
	if seed%5 == 4 {
		b.unit = 2 * chunk
	}
	files := map[string][]byte{"big": noise(seed, rng.IntN(5*chunk)), "sub/mid": noise(seed+1, maxSmall+rng.IntN(chunk))}
	for i := range 30 {
		files[fmt.Sprintf("sub/%d", i)] = noise(seed+uint64(i), rng.IntN(3000))
	}
	old := []byte("what was there before")
	for name, data := range files {
		put(t, a, pfs.Path("/s/"+name), data)
		if rng.IntN(3) == 0 {
			put(t, b.FS, pfs.Path("/d/"+name), old)
		}
	}

	var mu sync.Mutex
	kinds := []pfs.Kind{pfs.Unavailable, pfs.Unavailable, pfs.Limit, pfs.Integrity, pfs.Conflict, pfs.Closed, pfs.Other, pfs.NotExist}
	for round := range 4 {
		ctx, cancel := context.WithCancel(context.Background())
		left := 5 + rng.IntN(150) // operations until the cut
		faults := func(op string, name pfs.Path) error {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				cancel()
			}
			if rng.IntN(12) != 0 {
				return nil
			}
			if op == "write" && rng.IntN(8) == 0 {
				_, _, _ = b.Sweep(context.Background(), "/", -time.Hour)
			}
			return pfs.E("test."+op, name, kinds[rng.IntN(len(kinds))], nil)
		}
		a.before, b.before = faults, faults
		b.flip = func(op string, _ int64, p []byte) {
			mu.Lock()
			defer mu.Unlock()
			if b.wire && op == "write" && len(p) > 100 && rng.IntN(10) == 0 {
				p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
			}
		}
		_ = newJob(t, Options{}).Copy(ctx, End{a, "/s"}, End{b, "/d"})
		cancel()
		a.before, b.before, b.flip = nil, nil, nil
		for name, want := range files {
			at := pfs.Path("/d/" + name)
			if ok, err := pfs.Exists(context.Background(), b, at); err != nil || !ok {
				continue
			}
			if got := get(t, b, at); !bytes.Equal(got, want) && !bytes.Equal(got, old) {
				t.Fatalf("round %d: %s is neither old nor new: %d bytes of %d", round, name, len(got), len(want))
			}
		}
	}
	j := newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	for name, want := range files {
		checkFile(t, b, pfs.Path("/d/"+name), want)
	}
}
