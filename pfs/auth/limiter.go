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
	freePair    = 5  // failures of an account from one network
	freeWatched = 1  // the same, from a network or of an account that fails often
	watchFrom   = 20 // failures of a network, all accounts
	attackFrom  = 50 // failures of an account, all networks
	minDelay    = time.Second
	slowDelay   = 30 * time.Second // the longest delay of an account from one network
	attackDelay = 15 * time.Minute // the same, of an account under attack
	forgetAfter = time.Hour
	maxCounters = 1 << 16 // some 10 MB
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
	until    time.Time // of a pair: attempts before are refused
	friend   bool      // of a pair: the account has logged in from there
}

// charge counts one failure at now.
func (c *counter) charge(now time.Time) {
	if now.Sub(c.last) > forgetAfter {
		c.failures = 0
	}
	c.failures++
	c.last = now
}

// refund takes a failure back.
func (c *counter) refund() { c.failures = max(c.failures-1, 0) }

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
	l                      *limiter
	account, network, pair *counter

	before, after time.Time // until of the pair, before the attempt and because of it
}

// begin counts an attempt, or answers how long to wait before the next one. Only failures
// of the account from this network make it wait. Other failures of the account, or of the
// network, leave fewer free attempts, but refuse nobody.
func (l *limiter) begin(user, remote string) (*attempt, *RetryAfter) {
	network := networkOf(remote)
	pairKey := newCounterKey("pair", user, network)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if pair, ok := l.counters.get(pairKey); ok && pair.until.After(now) {
		return nil, retryAfter(pair.until.Sub(now))
	}
	a := &attempt{
		l: l, account: l.get(newCounterKey("account", user, "")), network: l.get(newCounterKey("network", "", network)), pair: l.get(pairKey),
	}
	a.account.charge(now)
	a.network.charge(now)
	a.pair.charge(now)
	a.before = a.pair.until
	free, most := a.patience()
	if over := a.pair.failures - free; over > 0 {
		a.pair.until = now.Add(min(minDelay<<min(over-1, 20), most))
	}
	a.after = a.pair.until
	return a, nil
}

// patience returns how many failures of the pair are free, and the longest delay after
// those.
func (a *attempt) patience() (free int, most time.Duration) {
	switch {
	case a.pair.friend:
		return freePair, slowDelay
	case a.account.failures > attackFrom:
		return freeWatched, attackDelay
	case a.network.failures > watchFrom:
		return freeWatched, slowDelay
	}
	return freePair, slowDelay
}

// succeed takes the attempt back: the password was right.
func (a *attempt) succeed() {
	a.abandon()
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	*a.pair = counter{friend: true}
}

// abandon takes the attempt back: the password was not looked at. The delay goes too, if
// nobody else was charged since.
func (a *attempt) abandon() {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	for _, c := range []*counter{a.account, a.network, a.pair} {
		c.refund()
	}
	if a.pair.until.Equal(a.after) {
		a.pair.until = a.before
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
