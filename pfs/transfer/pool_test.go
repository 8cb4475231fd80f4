package transfer

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// take takes n buffers.
func take(t *testing.T, p *Pool, n int) (all [][]byte) {
	t.Helper()
	for range n {
		b, err := p.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// TestAShareIsNotTheWhole checks that only the user of an exhausted share waits.
func TestAShareIsNotTheWhole(t *testing.T) {
	const patience = time.Minute
	synctest.Test(t, func(t *testing.T) {
		whole := NewPool(8 * chunk)
		one, two := whole.Share(4*chunk, patience), whole.Share(8*chunk, patience)
		mine := take(t, one, 4)
		if one.tryReserve() {
			t.Error("a share gives more than it has")
		}
		theirs := take(t, two, 4)
		if two.tryReserve() || len(two.slots) != 4 {
			t.Error("the shares give more than the whole has")
		}
		for i, p := range []*Pool{one, two} { // the share is used up, and then the whole
			began := time.Now()
			_, err := p.get(t.Context())
			if waited := time.Since(began); pfs.KindOf(err) != pfs.Limit || waited != patience {
				t.Errorf("pool %d: %v after %v", i, err, waited)
			}
		}
		for _, b := range mine {
			one.put(b)
		}
		for _, b := range theirs {
			two.put(b)
		}
		if n := len(whole.slots) + len(one.slots) + len(two.slots); n > 0 {
			t.Errorf("%d buffers are not given back", n)
		}
	})
}

// TestWhoeverWaitsInALineIsNotTurnedAway checks that waiting times out only if nothing moves.
func TestWhoeverWaitsInALineIsNotTurnedAway(t *testing.T) {
	const patience = time.Minute
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(4*chunk).Share(4*chunk, patience)
		bufs := take(t, p, 4)
		const waiting = 20
		done := make(chan error, waiting)
		for range waiting {
			go func() {
				b, err := p.get(t.Context())
				if err == nil {
					time.Sleep(3 * patience) // four at a time, not at the same time
					p.put(b)
				}
				done <- err
			}()
		}
		for _, b := range bufs {
			time.Sleep(patience * 3 / 4)
			p.put(b)
		}
		for range waiting {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestToWriterWithoutABuffer checks that a read ahead does not wait for a buffer.
func TestToWriterWithoutABuffer(t *testing.T) {
	a := newFaulty(t)
	put(t, a, "/f", noise(1, chunk))
	synctest.Test(t, func(t *testing.T) {
		whole := NewPool(4 * chunk)
		held := take(t, whole, 4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		j := newJob(t, Options{Pool: whole.Share(4*chunk, time.Minute)})
		_, err := j.ToWriter(ctx, End{a, "/f"}, io.Discard, 0, -1)
		checkKind(t, err, pfs.Limit)
		for _, b := range held {
			whole.put(b)
		}
		if n := len(whole.slots); n > 0 {
			t.Errorf("%d buffers are not given back", n)
		}
	})
}

func TestTrim(t *testing.T) {
	p := NewPool(4 * chunk)
	b, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.put(b)
	if p.Trim(); len(p.free) > 0 || len(p.slots) > 0 {
		t.Errorf("%d buffers are kept, %d taken", len(p.free), len(p.slots))
	}
}
