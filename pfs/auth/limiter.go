package auth

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// The numbers of the policy that the package documentation describes.
const (
	freePair     = 5  // failures of an account from one network
	freeStranger = 1  // the same, while under attack, from a network never seen
	freeNetwork  = 20 // failures from one network, all accounts
	attackAt     = 50 // failures of an account from everywhere
	minDelay     = time.Second
	maxDelay     = 15 * time.Minute
	forgetAfter  = time.Hour
	maxCounters  = 1 << 16 // some 10 MB
)

// RetryAfter is the cause of an error of Kind Limit: how long to wait.
type RetryAfter struct {
	Wait time.Duration
}

func (r *RetryAfter) Error() string {
	return fmt.Sprintf("try again in %s", r.Wait)
}

// retryAfter rounds up to whole seconds.
func retryAfter(wait time.Duration) *RetryAfter {
	return &RetryAfter{Wait: (wait + time.Second - 1).Truncate(time.Second)}
}

// counter counts failures of one pair, network or account.
type counter struct {
	failures int
	last     time.Time // of the last failure
	until    time.Time // attempts before are refused
	friend   bool      // of a pair: the account has logged in from there
}

// charge counts one failure at now, of which the first free ones cost nothing.
func (c *counter) charge(now time.Time, free int) charge {
	ch := charge{c: c, before: c.until}
	if now.Sub(c.last) > forgetAfter {
		c.failures = 0
	}
	c.failures++
	c.last = now
	if over := c.failures - free; over > 0 {
		c.until = now.Add(min(minDelay<<min(over-1, 20), maxDelay))
	}
	ch.after = c.until
	return ch
}

// charge is a failure counted on a counter, and what it did to its delay.
type charge struct {
	c             *counter
	before, after time.Time
}

// refund takes the charge back, and the delay if nobody else was charged since.
func (ch charge) refund() {
	ch.c.failures = max(ch.c.failures-1, 0)
	if ch.c.until.Equal(ch.after) {
		ch.c.until = ch.before
	}
}

// counterKey is a hash, so that a long name costs no more memory than a short one.
type counterKey [sha256.Size]byte

func newCounterKey(kind, account, network string) counterKey {
	return sha256.Sum256(fmt.Appendf(nil, "%s %q %q", kind, account, network))
}

// limiter bounds the guessing of passwords.
type limiter struct {
	now func() time.Time

	mu       sync.Mutex
	counters *lru[counterKey, *counter]
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, counters: newLRU[counterKey, *counter](maxCounters)}
}

// get returns the counter of key, a new one if it is not there.
func (l *limiter) get(key counterKey) *counter {
	c, ok := l.counters.get(key)
	if !ok {
		c = new(counter)
		l.counters.add(key, c)
	}
	return c
}

// attempt is one login on its way. It is counted as a failure from the start, so
// that many at the same time are not better off than one after the other.
type attempt struct {
	l       *limiter
	pair    *counter
	charges [3]charge
}

// begin counts an attempt, or answers how long to wait before the next one. One
// that is refused leaves no trace, so that refusals cannot push out what is known.
func (l *limiter) begin(user, remote string) (*attempt, *RetryAfter) {
	network := networkOf(remote)
	pairKey := newCounterKey("pair", user, network)
	networkKey := newCounterKey("network", "", network)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.wait(pairKey, networkKey, now); wait > 0 {
		return nil, retryAfter(wait)
	}
	account, pair := l.get(newCounterKey("account", user, "")), l.get(pairKey)
	a := &attempt{l: l, pair: pair}
	a.charges[0] = account.charge(now, attackAt)
	a.charges[1] = l.get(networkKey).charge(now, freeNetwork)
	a.charges[2] = pair.charge(now, free(account, pair))
	return a, nil
}

// wait returns how long a pair has to wait, not more than 0 if it need not.
func (l *limiter) wait(pair, network counterKey, now time.Time) time.Duration {
	var until time.Time
	p, ok := l.counters.get(pair)
	if ok {
		until = p.until
	}
	if n, there := l.counters.get(network); there && !(ok && p.friend) && n.until.After(until) {
		until = n.until
	}
	return until.Sub(now)
}

// free is how many failures cost the pair nothing.
func free(account, pair *counter) int {
	if account.failures > attackAt && !pair.friend {
		return freeStranger
	}
	return freePair
}

// succeed takes the attempt back: the password was right.
func (a *attempt) succeed() {
	a.abandon()
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	*a.pair = counter{friend: true}
}

// abandon takes the attempt back: the password was not looked at.
func (a *attempt) abandon() {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	for _, ch := range a.charges {
		ch.refund()
	}
}

// networkOf returns whom a remote address, with or without a port, counts as: an
// IPv6 user commands a whole prefix. What is no address is taken as it is.
func networkOf(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		withPort, err := netip.ParseAddrPort(remote)
		if err != nil {
			return remote
		}
		addr = withPort.Addr()
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(56)
	if err != nil {
		return addr.String()
	}
	return prefix.String()
}
