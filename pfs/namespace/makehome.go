package namespace

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

const (
	// homeKept is how long a home that was seen is assumed to exist. Only another service or a
	// tool on the store can remove it unnoticed in this time.
	homeKept = time.Minute
	// storeLeft is how long a store that cannot be reached is not tried again, so that its
	// users do not wait for it with every request to another.
	storeLeft = time.Minute
	// homeWait is how long a request waits for the check of a home that was seen before: its
	// store may not answer, and the request may be for another store.
	homeWait = time.Second
	// quotaKept is how long a home that had a quota is assumed to have one.
	quotaKept = time.Hour
	// maxChecks is the largest number of homes and versions that are remembered.
	maxChecks = 32 << 10
)

// EnsureLayout makes /home and /public on the store of every datacenter. It tries all of them at
// the same time and returns the first error. EnsureHome later makes what is still missing.
func (n *Namespace) EnsureLayout(ctx context.Context) error {
	errs := make([]error, len(n.datacenters))
	var work sync.WaitGroup
	for i, dc := range n.datacenters {
		work.Go(func() {
			errs[i] = pfs.Guard("namespace.EnsureLayout", "", func() error { return layout(ctx, dc) })
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// layout makes the directories that the homes and datasets of dc are in. Only the service itself
// may list the homes.
func layout(ctx context.Context, dc Datacenter) error {
	if dc.Dir != pfs.Root {
		if err := dc.FS.Mkdir(ctx, dc.Dir, 0o755); err != nil {
			return failed(dc, err)
		}
	}
	if err := dc.FS.Mkdir(ctx, dc.at(home), 0o711); err != nil {
		return failed(dc, err)
	}
	if err := dc.FS.Mkdir(ctx, dc.at(public), 0o755); err != nil {
		return failed(dc, err)
	}
	return nil
}

// failed adds the datacenter to err.
func failed(dc Datacenter, err error) error {
	return pfs.Errorf("namespace.EnsureHome", "", pfs.KindOf(err), "datacenter %s: %w", dc.Name, err)
}

// EnsureHome makes the home of id, private and its own, in every datacenter where it is missing;
// an existing one keeps its owner. It is cheap to call with every request, because it remembers
// for minutes what it has seen.
//
// A store that fails is logged. If it cannot be reached, it is not tried again for a minute.
// EnsureHome returns an error only if no datacenter has the home: a user can work in one while
// another is down. It waits at most a second for a datacenter in which the home was seen before.
func (n *Namespace) EnsureHome(ctx context.Context, id auth.Identity) error {
	if reason := auth.CheckName(id.Name); reason != "" {
		return pfs.Errorf("namespace.EnsureHome", "", pfs.Invalid, "user name %.80q: %s", id.Name, reason)
	}
	var first error
	there := 0
	for _, err := range n.ensureHomes(ctx, id) {
		switch {
		case err == nil:
			there++
		case errors.Is(err, pfs.Canceled):
			return err
		case first == nil:
			first = err
		}
	}
	if there > 0 {
		return nil
	}
	return first
}

// ensureHomes makes the home in every datacenter at the same time, and returns one error for each.
func (n *Namespace) ensureHomes(ctx context.Context, id auth.Identity) []error {
	errs := make([]error, len(n.datacenters))
	var work sync.WaitGroup
	for i, dc := range n.datacenters {
		if n.due(homeIn(dc, id)) {
			work.Go(func() { errs[i] = n.ensureHome(ctx, dc, id) })
		}
	}
	work.Wait()
	return errs
}

// ensureHome makes a home in one datacenter, unless the store has failed a short time ago.
func (n *Namespace) ensureHome(ctx context.Context, dc Datacenter, id auth.Identity) error {
	this := homeIn(dc, id)
	switch seen := n.seen(this); {
	case !n.due(dc.Name) && seen:
		return nil // if the store has failed, the operation itself returns the error
	case !n.due(dc.Name):
		return pfs.Errorf("namespace.EnsureHome", "", pfs.Unavailable, "datacenter %s could not be reached: try again in a minute", dc.Name)
	case !seen:
		return n.makeHome(ctx, dc, id)
	}
	n.look(this, homeKept) // so that only one request checks
	done := make(chan error, 1)
	go func() { done <- n.makeHome(context.WithoutCancel(ctx), dc, id) }()
	select {
	case err := <-done:
		return err
	case <-time.After(homeWait):
		return nil
	case <-ctx.Done():
		return pfs.E("namespace.EnsureHome", "", pfs.Canceled, ctx.Err())
	}
}

// makeHome makes a home in one datacenter and remembers the result.
func (n *Namespace) makeHome(ctx context.Context, dc Datacenter, id auth.Identity) error {
	err := pfs.Guard("namespace.EnsureHome", "", func() error { return makeHome(ctx, dc, id) })
	switch {
	case err == nil:
		n.look(homeIn(dc, id), homeKept)
		n.limitHome(ctx, dc, id)
		return nil
	case errors.Is(err, pfs.Canceled):
		return err
	case errors.Is(err, pfs.Unavailable):
		n.look(dc.Name, storeLeft)
	}
	n.lookNow(homeIn(dc, id))
	n.log.Warn("no home", "datacenter", dc.Name, "user", id.Name, "err", err)
	return err
}

// limitHome sets the default quota of a home that has none. The store may have to count the home
// first: a request waits at most homeWait for that.
func (n *Namespace) limitHome(ctx context.Context, dc Datacenter, id auth.Identity) {
	this := quotaOf(homeIn(dc, id))
	if dc.HomeQuota == (Quota{}) || !n.due(this) {
		return
	}
	n.look(this, storeLeft) // so that only one request checks, and a failure is tried again
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := pfs.Guard("namespace.limitHome", "", func() error {
			return dc.limit(context.WithoutCancel(ctx), dc.at(home).Join(id.Name))
		})
		if err != nil {
			n.log.Error("a home has no quota", "datacenter", dc.Name, "user", id.Name, "err", err)
			return
		}
		n.look(this, quotaKept)
	}()
	select {
	case <-done:
	case <-time.After(homeWait):
	}
}

// limit sets the quota of homes on dir if it has none.
func (dc Datacenter) limit(ctx context.Context, dir pfs.Path) error {
	u, err := pfs.UsageOf(ctx, dc.FS, dir)
	if err != nil || u.MaxBytes != 0 || u.MaxFiles != 0 {
		return err
	}
	return pfs.SetQuota(ctx, dc.FS, dir, dc.HomeQuota.Bytes, dc.HomeQuota.Files)
}

// quotaOf returns the key of the next check of a home's quota.
func quotaOf(homeIn string) string { return "quota " + homeIn }

// homeIn returns the key of the next check of a home.
func homeIn(dc Datacenter, id auth.Identity) string { return dc.Name + "/" + id.Name }

// makeHome makes a home, and the directories above it if they are missing.
func makeHome(ctx context.Context, dc Datacenter, id auth.Identity) error {
	dir, store := dc.at(home).Join(id.Name), dc.FS
	if owner, ok := id.Owner(); ok {
		store = dc.storeFor(owner)
	}
	err := store.Mkdir(ctx, dir, 0o700)
	if errors.Is(err, pfs.NotExist) {
		if err := layout(ctx, dc); err != nil {
			return err
		}
		err = store.Mkdir(ctx, dir, 0o700)
	}
	if err != nil {
		return failed(dc, err)
	}
	return nil
}

// due reports whether it is time to check what again. Names of stores have no slash, those of
// homes have one.
func (n *Namespace) due(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.now().Before(n.checks[what])
}

// seen reports whether what, a key, was checked before with success.
func (n *Namespace) seen(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.checks[what]
	return ok
}

// lookNow makes the check of what due, if it was seen before.
func (n *Namespace) lookNow(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.checks[what]; ok {
		n.checks[what] = time.Time{}
	}
}

// forget makes what unseen.
func (n *Namespace) forget(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.checks, what)
}

// look sets the time after which what is checked again.
func (n *Namespace) look(what string, after time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.checks[what]; !ok && len(n.checks) >= maxChecks {
		n.makeRoom()
	}
	n.checks[what] = n.now().Add(after)
}

// makeRoom forgets the entries that are due, which costs one check each, and others if those are
// less than half. It keeps stores, which are few. n.mu is held.
func (n *Namespace) makeRoom() {
	now := n.now()
	for what, at := range n.checks {
		if !now.Before(at) && strings.Contains(what, "/") {
			delete(n.checks, what)
		}
	}
	for what := range n.checks {
		if len(n.checks) <= maxChecks/2 {
			return
		}
		if strings.Contains(what, "/") {
			delete(n.checks, what)
		}
	}
}
