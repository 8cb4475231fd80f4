package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/lru"
)

// The parameters of the policy that the package documentation describes.
const (
	freePair    = 5  // failures of an account from one network
	freeWatched = 1  // the same, if the network or the account fails often
	watchFrom   = 20 // failures of a network, all accounts
	attackFrom  = 50 // failures of an account, all networks
	minDelay    = time.Second
	slowDelay   = 30 * time.Second // the maximum delay of an account from one network
	attackDelay = 15 * time.Minute // the same for an account under attack
	forgetAfter = time.Hour
	maxCounters = 1 << 16 // about 10 MB
)

// RetryAfter is the cause of an error of Kind Limit: the time to wait.
type RetryAfter struct {
	Wait time.Duration
}

func (r *RetryAfter) Error() string {
	return fmt.Sprintf("try again in %s", r.Wait)
}

// SecondsToWait returns after how many seconds a request that failed with err may succeed: those of a RetryAfter, else 1.
func SecondsToWait(err error) int {
	if later := new(RetryAfter); errors.As(err, &later) {
		return int((later.Wait + time.Second - 1) / time.Second)
	}
	return 1
}

// retryAfter rounds up to whole seconds.
func retryAfter(wait time.Duration) *RetryAfter {
	return &RetryAfter{Wait: (wait + time.Second - 1).Truncate(time.Second)}
}

// counter counts the failures of a pair of account and network, of a network, or of an account.
type counter struct {
	failures int
	last     time.Time // of the last failure
	until    time.Time // of a pair: attempts before this time are refused
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

// refund removes a failure.
func (c *counter) refund() { c.failures = max(c.failures-1, 0) }

// counterKey is a hash, so that long names cost no more memory than short ones.
type counterKey [sha256.Size]byte

func newCounterKey(kind, account, network string) counterKey {
	return sha256.Sum256(fmt.Appendf(nil, "%s %q %q", kind, account, network))
}

// limiter limits password guessing.
type limiter struct {
	now func() time.Time

	mu       sync.Mutex
	counters *lru.Cache[counterKey, *counter]
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, counters: lru.New[counterKey](maxCounters, lru.One[*counter])}
}

// get returns the counter of key, or a new one.
func (l *limiter) get(key counterKey) *counter {
	c, ok := l.counters.Get(key)
	if !ok {
		c = new(counter)
		l.counters.Add(key, c)
	}
	return c
}

// attempt is a login in progress. It counts as a failure from the start, so that concurrent
// attempts gain nothing over sequential ones.
type attempt struct {
	l                      *limiter
	account, network, pair *counter

	before, after time.Time // until of the pair, before the attempt and after it
}

// begin counts an attempt, or returns how long to wait before the next one. Only failures of the
// account from this network cause a wait. Other failures of the account, or of the network, reduce
// the number of free attempts, but refuse nobody.
func (l *limiter) begin(user, remote string) (*attempt, *RetryAfter) {
	network := networkOf(remote)
	pairKey := newCounterKey("pair", user, network)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.wait(pairKey, now); wait != nil {
		return nil, wait
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

// waiting returns how long to wait before the next attempt; nil for not at all.
func (l *limiter) waiting(user, remote string) *RetryAfter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait(newCounterKey("pair", user, networkOf(remote)), l.now())
}

// wait is waiting with l.mu held.
func (l *limiter) wait(pairKey counterKey, now time.Time) *RetryAfter {
	if pair, ok := l.counters.Get(pairKey); ok && pair.until.After(now) {
		return retryAfter(pair.until.Sub(now))
	}
	return nil
}

// patience returns the number of free failures of the pair, and the maximum delay after those.
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

// succeed removes the attempt: the password was correct.
func (a *attempt) succeed() {
	a.abandon()
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	*a.pair = counter{friend: true}
}

// abandon removes the attempt: the password was not checked. It also removes the delay, unless
// another failure was counted since.
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

// networkOf returns the network of a remote address, with or without a port; an IPv6 user controls
// a whole prefix. It returns other text unchanged.
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
