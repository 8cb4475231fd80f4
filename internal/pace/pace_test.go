package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace holds that a peer gets the time of a stall for each buffer, and no more than its bytes need at the slowest rate.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at time.Time
		p := Pace{func(deadline time.Time) error { at = deadline; return nil }, endOf(0)}
		want := func(what string, after time.Duration) {
			t.Helper()
			if p.Next(); at.Sub(began) != after {
				t.Errorf("%s: the deadline is after %v, want %v", what, at.Sub(began), after)
			}
		}
		want("the first buffer", Stall)
		time.Sleep(Stall - time.Second)
		want("no byte has moved", Stall)
		p.More(5 * Slowest)
		want("five seconds of bytes", Stall+5*time.Second)
		p.More(1000 * Slowest)
		want("many bytes, and none since", 2*Stall-time.Second)
		p = Pace{p.set, endOf(0)}
		if err := p.Wait(func() error { time.Sleep(time.Hour); return nil }); err != nil || at.Sub(began) != 2*Stall-time.Second+time.Hour {
			t.Errorf("an hour of the store: the deadline is after %v, %v", at.Sub(began), err)
		}
		if p.Done(); !at.IsZero() {
			t.Errorf("after the whole body the deadline is %v", at)
		}
		called := false
		if err := (*Pace)(nil).Wait(func() error { called = true; return nil }); err != nil || !called {
			t.Errorf("without a peer: %v, %v", called, err)
		}
	})
}
