package localfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// tree keeps the totals of a directory with a quota. The first use counts it in one walk; from then
// on every operation of this FS books its changes. Changes of other processes appear with the next
// count.
type tree struct {
	name pfs.Path

	mu      sync.Mutex
	limits  limits
	used    sums      // published files, and uploads that are not open here
	claims  need      // of running operations, uploads included
	counted time.Time // when used was counted; zero: not yet
	doubted bool      // used cannot be right, and must be counted again at once
	count   *count    // the running walk, or nil
}

// count is one walk of a tree.
type count struct {
	done    chan struct{} // closed at the end of the walk
	err     error
	net     sums // booked since the walk began
	touched sums // the same without signs
}

func (t *tree) setLimits(l limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = l
}

// usage returns the result of Usage.
func (t *tree) usage() pfs.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.used.usage()
	u.Bytes += t.claims.bytes
	u.MaxBytes, u.MaxFiles = t.limits.bytes, t.limits.files
	return u
}

// ready waits until the tree has been counted once. It starts another count of an old or doubted
// tree but does not wait for it.
func (t *tree) ready(ctx context.Context, f *FS) error {
	t.mu.Lock()
	first := t.counted.IsZero()
	if !first && !t.doubted && time.Since(t.counted) < f.opts.RecountEvery {
		t.mu.Unlock()
		return nil
	}
	c := t.count
	if c == nil {
		c = &count{done: make(chan struct{})}
		if !f.background(func(life context.Context) { t.recount(life, f, c) }) {
			t.mu.Unlock()
			return pfs.Closed
		}
		t.count = c
	}
	t.mu.Unlock()
	if !first {
		return nil
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recount walks the tree. The walk may have missed changes that were made meanwhile through this
// FS: its result only replaces the totals if these changes do not explain the difference. A failed
// walk leaves the totals alone.
func (t *tree) recount(ctx context.Context, f *FS, c *count) {
	found, err := f.countTree(ctx, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count = nil
	c.err = err
	close(c.done)
	first := t.counted.IsZero()
	if err == nil && (first || !found.within(t.used, c.touched)) {
		t.used = found.plus(c.net, 1)
	}
	if err == nil || !first { // otherwise the next operation tries again
		t.used = t.used.atLeast(sums{})
		t.counted, t.doubted = time.Now(), false
	}
}

// doubt makes the next use count the tree again.
func (t *tree) doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubted = true
}

// book adds a change to the totals.
func (t *tree) book(change sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bookLocked(change)
}

func (t *tree) bookLocked(change sums) {
	if c := t.count; c != nil {
		c.net = c.net.plus(change, 1)
		c.touched = c.touched.plus(change.magnitude(), 1)
	}
	if t.counted.IsZero() {
		return
	}
	t.used = t.used.plus(change, 1)
	if t.used != t.used.atLeast(sums{}) { // negative: another process changed entries that this one counts
		t.doubted = true
	}
}

// take adds to the claims, if the limits allow it.
//
// An upload needs no quota for the bytes of the file that it will replace, so that a full tree can
// be overwritten. But many uploads could then replace the same file, so all uploads together must
// also fit the limits.
func (t *tree) take(more need) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes, files := t.used.bytes+t.claims.bytes, t.used.files+t.used.dirs+t.claims.files
	staged := t.used.staged.plus(t.claims.staged, 1)
	switch {
	case exceeds(bytes, more.bytes, t.limits.bytes):
		return t.exceeded(pfs.OverQuota{Limit: t.limits.bytes, Used: bytes, Need: more.bytes, Staged: t.used.staged.bytes})
	case exceeds(files+t.used.staged.files, more.files, t.limits.files):
		return t.exceeded(pfs.OverQuota{Files: true, Limit: t.limits.files, Used: files + t.used.staged.files, Need: more.files, Staged: t.used.staged.files})
	case exceeds(staged.bytes, more.staged.bytes, t.limits.bytes):
		return t.exceeded(pfs.OverQuota{Limit: t.limits.bytes, Used: staged.bytes, Need: more.staged.bytes, Staged: staged.bytes})
	case exceeds(staged.files, more.staged.files, t.limits.files):
		return t.exceeded(pfs.OverQuota{Files: true, Limit: t.limits.files, Used: staged.files, Need: more.staged.files, Staged: staged.files})
	}
	t.claims = t.claims.plus(more, 1)
	return nil
}

// give ends a claim and books the change.
func (t *tree) give(claimed need, change sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims = t.claims.plus(claimed, -1)
	t.bookLocked(change)
}

// background starts work that ends early if the file system is closed. It returns false if it is
// already closed.
func (f *FS) background(work func(life context.Context)) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.root == nil {
		return false
	}
	f.work.Go(func() { work(f.life) })
	return true
}
