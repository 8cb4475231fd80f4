package webdav

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/net/webdav"
)

const (
	// maxLocks bounds the locks of all users, maxUserLocks those of one. An owner's XML is at most maxXML bytes.
	maxLocks     = 4096
	maxUserLocks = 512

	// lockLife is the longest life of a lock; clients refresh it.
	lockLife = time.Hour
)

// locks are the locks of this replica. A token is good only for the user who got it.
type locks struct {
	all webdav.LockSystem

	mu    sync.Mutex
	given map[string]lock // by the token that clients know
}

// lock is a lock of a user.
type lock struct {
	user  string
	token string // of locks.all, which counts, so that others could guess it
	until time.Time
}

func newLocks() *locks { return &locks{all: webdav.NewMemLS(), given: map[string]lock{}} }

// of returns the locks as the user of q sees them.
func (l *locks) of(q *request) webdav.LockSystem { return userLocks{l, q} }

// userLocks are the locks for one request of a user.
type userLocks struct {
	*locks
	q *request
}

// Create makes a lock. x/net/webdav also makes one for the time of a request, which is not counted.
func (l userLocks) Create(now time.Time, details webdav.LockDetails) (string, error) {
	if l.q.Method != "LOCK" {
		return l.all.Create(now, details)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := 0
	for token, g := range l.given {
		switch {
		case now.After(g.until):
			delete(l.given, token)
		case g.user == l.q.session.User().Name:
			own++
		}
	}
	if own >= maxUserLocks || len(l.given) >= maxLocks {
		err := pfs.Errorf("webdav.Create", l.q.name, pfs.Limit, "you have %d locks, and the service %d: unlock some, or try again in an hour", own, len(l.given))
		l.q.failed = err
		return "", err
	}
	inner, err := l.all.Create(now, details)
	if err != nil {
		return "", err
	}
	token := "opaquelocktoken:" + pfs.NewID()
	l.given[token] = lock{l.q.session.User().Name, inner, now.Add(details.Duration)}
	return token, nil
}

// timeout returns the header Timeout of a LOCK with a life that it can have, because x/net/webdav repeats it in the answer.
func timeout(header string) string {
	first, _, _ := strings.Cut(header, ",")
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(first), "Second-"), 10, 64)
	if err != nil || n < 0 || n > int64(lockLife/time.Second) {
		n = int64(lockLife / time.Second)
	}
	return "Second-" + strconv.FormatInt(n, 10)
}

// noToken is the token of no lock.
const noToken = "none"

// inner returns the token of locks.all for one that the user got. Any other is no lock.
func (l userLocks) inner(token string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g, ok := l.given[token]; ok && g.user == l.q.session.User().Name {
		return g.token
	}
	return noToken
}

// Confirm checks one list of the header If. locks.all knows tokens alone, so entity tags and negations are checked here. A
// list without a token passes if nobody else has a lock, as a request without the header does.
func (l userLocks) Confirm(now time.Time, name0, name1 string, conditions ...webdav.Condition) (func(), error) {
	var own []webdav.Condition
	for _, c := range conditions {
		token := l.inner(c.Token)
		switch {
		case c.ETag != "":
			same, err := l.hasETag(cmp.Or(name0, name1), c.ETag)
			if err != nil {
				return nil, err
			}
			if same == c.Not {
				return nil, webdav.ErrConfirmationFailed
			}
		case !c.Not:
			own = append(own, webdav.Condition{Token: token})
		case token != noToken:
			return nil, webdav.ErrConfirmationFailed
		}
	}
	if len(own) == 0 {
		return l.hold(now, name0, name1)
	}
	release, err := l.all.Confirm(now, name0, name1, own...)
	if err == nil || name1 == "" || slices.Contains(own, webdav.Condition{Token: noToken}) {
		return release, err
	}
	// The target of a COPY or a MOVE needs no token if nobody has locked it.
	held, err := l.hold(now, "", name1)
	if err != nil || name0 == "" {
		return held, err
	}
	if release, err = l.all.Confirm(now, name0, "", own...); err != nil {
		held()
		return nil, err
	}
	return func() { release(); held() }, nil
}

// hold locks unlocked names for the time of a request.
func (l userLocks) hold(now time.Time, names ...string) (release func(), err error) {
	var tokens []string
	release = func() {
		for _, t := range tokens {
			_ = l.all.Unlock(now, t)
		}
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		t, err := l.all.Create(now, webdav.LockDetails{Root: name, Duration: -1, ZeroDepth: true})
		if err != nil {
			release()
			return nil, webdav.ErrConfirmationFailed
		}
		tokens = append(tokens, t)
	}
	return release, nil
}

// hasETag reports whether name has an entity tag.
func (l userLocks) hasETag(name, etag string) (bool, error) {
	info, err := l.q.stat(pfs.Path(name))
	if is(err, pfs.NotExist) {
		return false, nil
	}
	if err != nil {
		l.q.failed = err
		return false, err
	}
	return gateway.ETag(info) == etag, nil
}

func (l userLocks) Refresh(now time.Time, token string, duration time.Duration) (webdav.LockDetails, error) {
	details, err := l.all.Refresh(now, l.inner(token), duration)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		g := l.given[token]
		g.until = now.Add(details.Duration)
		l.given[token] = g
	}
	return details, err
}

func (l userLocks) Unlock(now time.Time, token string) error {
	if l.q.Method != "UNLOCK" && l.q.Method != "LOCK" {
		return l.all.Unlock(now, token) // of the time of a request
	}
	err := l.all.Unlock(now, l.inner(token))
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.given, token)
	}
	return err
}
