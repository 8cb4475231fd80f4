package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func testLimiter() (*limiter, *clock) {
	c := newClock()
	return newLimiter(c.Now), c
}

// fail makes one failed attempt; it reports whether the attempt was admitted.
func fail(l *limiter, account, remote string) bool {
	_, wait := l.begin(account, remote)
	return wait == nil
}

// failures counts the admitted attempts in a row.
func failures(l *limiter, account, remote string) (n int) {
	for n < 1000 && fail(l, account, remote) {
		n++
	}
	return n
}

// login lets one attempt succeed.
func login(t *testing.T, l *limiter, account, remote string) {
	t.Helper()
	a, wait := l.begin(account, remote)
	if wait != nil {
		t.Fatalf("login of %s from %s: %v", account, remote, wait)
	}
	a.succeed()
}

func TestDelaysDouble(t *testing.T) {
	l, c := testLimiter()
	if got := failures(l, "ann", "192.0.2.1"); got != freePair+1 {
		t.Fatalf("%d failures in a row, want %d", got, freePair+1)
	}
	want := minDelay
	for range 15 {
		_, wait := l.begin("ann", "192.0.2.1")
		if wait == nil || wait.Wait != want {
			t.Fatalf("got to wait %v, want %v", wait, want)
		}
		c.Advance(want)
		if !fail(l, "ann", "192.0.2.1") {
			t.Fatalf("refused after %v", want)
		}
		want = min(2*want, slowDelay)
	}
	c.Advance(forgetAfter + time.Second)
	if got := failures(l, "ann", "192.0.2.1"); got != freePair+1 {
		t.Errorf("%d failures after an hour, want %d", got, freePair+1)
	}
}

func TestSuccessClears(t *testing.T) {
	l, _ := testLimiter()
	for range freePair - 1 {
		fail(l, "ann", "192.0.2.1")
	}
	login(t, l, "ann", "192.0.2.1")
	if got := failures(l, "ann", "192.0.2.1"); got != freePair+1 {
		t.Errorf("%d failures after a login, want %d", got, freePair+1)
	}
}

// Many at the same time are not better off: attempts count from their begin.
func TestAttemptsCountFromTheirBegin(t *testing.T) {
	l, _ := testLimiter()
	var open []*attempt
	for {
		a, wait := l.begin("ann", "192.0.2.1")
		if wait != nil {
			break
		}
		open = append(open, a)
	}
	if got := len(open); got != freePair+1 {
		t.Errorf("%d attempts at the same time, want %d", got, freePair+1)
	}
	for _, a := range open {
		a.abandon()
	}
	if got := failures(l, "ann", "192.0.2.1"); got != freePair+1 {
		t.Errorf("abandoned attempts counted: %d failures in a row, want %d", got, freePair+1)
	}
}

// Failed logins delay the accounts that they name, and no other account behind the same address.
func TestFailuresDoNotLockOutTheAddress(t *testing.T) {
	l, _ := testLimiter()
	for _, account := range []string{"bob", "carol", "dave", "eve"} {
		if got := failures(l, account, "192.0.2.1:1234"); got > freePair+1 {
			t.Errorf("%d failures of %s in a row, want at most %d", got, account, freePair+1)
		}
	}
	if got := failures(l, "frank", "192.0.2.1:1234"); got != freeWatched+1 {
		t.Errorf("%d failures of another account from a network that fails often, want %d", got, freeWatched+1)
	}
	login(t, l, "ann", "192.0.2.1:4711")
	if got := failures(l, "ann", "192.0.2.1"); got != freePair+1 {
		t.Errorf("%d failures of an account that has logged in, want %d", got, freePair+1)
	}
}

// An attacker at the usual address of the owner delays logins, but not for long.
func TestOwnerIsSlowedDownOnly(t *testing.T) {
	l, c := testLimiter()
	login(t, l, "ann", "192.0.2.1")
	for range 500 {
		if _, wait := l.begin("ann", "192.0.2.1"); wait != nil {
			if wait.Wait > slowDelay {
				t.Fatalf("the owner is told to wait %v, want at most %v", wait.Wait, slowDelay)
			}
			c.Advance(wait.Wait)
		}
	}
	c.Advance(slowDelay)
	login(t, l, "ann", "192.0.2.1")
}

// Strangers cannot lock an account, from however many networks they come.
func TestStrangersCannotLockAnAccount(t *testing.T) {
	l, c := testLimiter()
	login(t, l, "ann", "198.51.100.1")
	guesses := 0
	for i := range 1000 {
		guesses += failures(l, "ann", fmt.Sprintf("2001:db8:%x::1", i))
	}
	if most := 1000*(freeWatched+1) + attackFrom*freePair; guesses > most {
		t.Errorf("%d guesses from 1000 networks, want at most %d", guesses, most)
	}
	if guesses < 1000 {
		t.Errorf("%d guesses from 1000 networks: somebody was refused at the first attempt", guesses)
	}
	login(t, l, "ann", "203.0.113.9")
	if got := failures(l, "ann", "198.51.100.1"); got != freePair+1 {
		t.Errorf("%d failures from a network known before, want %d", got, freePair+1)
	}
	c.Advance(forgetAfter + time.Second)
	if got := failures(l, "ann", "2001:db8:fff::1"); got != freePair+1 {
		t.Errorf("%d failures an hour after the attack, want %d", got, freePair+1)
	}
}

// Refused attempts are not recorded: a flood of them does not displace counters.
func TestRefusalsPushNothingOut(t *testing.T) {
	l, _ := testLimiter()
	for range 1000 {
		fail(l, "ann", "192.0.2.1")
	}
	if got, most := len(slices.Collect(l.counters.Values())), 3; got != most {
		t.Errorf("%d counters, want %d", got, most)
	}
}

func TestNetworkOf(t *testing.T) {
	tests := []struct{ remote, want string }{
		{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.1:4711", "192.0.2.1"},
		{"[::ffff:192.0.2.1]:4711", "192.0.2.1"},
		{"[2001:db8:1:2ff::1]:4711", "2001:db8:1:200::/56"},
		{"2001:db8:1:2ab:3:4:5:6", "2001:db8:1:200::/56"},
		{"fe80::1%eth0", "fe80::/56"},
		{"@", "@"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := networkOf(tt.remote); got != tt.want {
			t.Errorf("networkOf(%q) = %q, want %q", tt.remote, got, tt.want)
		}
	}
}
