package localfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// tree keeps the sums of a directory with a quota. Counting is one walk at first
// need; from then on every operation of this FS books what it changes. Other
// processes' changes come in with the next count.
type tree struct {
	name pfs.Path

	mu      sync.Mutex
	limits  limits
	used    sums      // what is published, and staged by nobody here
	claims  need      // of operations under way, staged writes included
	counted time.Time // of used; zero: not yet
	doubted bool      // used cannot be right, and is to be counted again at once
	count   *count    // the walk that is on, nil if none is
}

// count is one walk of a tree.
type count struct {
	done    chan struct{} // closed at its end
	err     error
	net     sums // booked since it began
	touched sums // the same without signs
}

func (t *tree) setLimits(l limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = l
}

// usage is what Usage answers.
func (t *tree) usage() pfs.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.used.usage()
	u.Bytes += t.claims.bytes
	u.MaxBytes, u.MaxFiles = t.limits.bytes, t.limits.files
	return u
}

// ready returns once the tree was counted. A count that is merely old or doubted is
// begun again and not waited for.
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

// recount walks the tree. Where files changed meanwhile through this FS the walk
// may have seen them or not: it then only overrules the sums if it differs from
// them by more than these changes explain. If it fails the sums are as good as they were.
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
	if err == nil || !first { // else the next operation tries again
		t.used = t.used.atLeast(sums{})
		t.counted, t.doubted = time.Now(), false
	}
}

// doubt has the tree counted again at the next need.
func (t *tree) doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubted = true
}

// book adds a change to the sums.
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
	if t.used != t.used.atLeast(sums{}) { // another process books in its own sums what it does here
		t.doubted = true
	}
}

// take claims more, if the limits allow it.
//
// A staged write takes no room that the file has which it will replace, so that a full
// tree can be written over. But with many of them one file would make room for any
// number: so what is staged may not be more than the limits either.
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

// give returns a claim and books what became of it.
func (t *tree) give(claimed need, change sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims = t.claims.plus(claimed, -1)
	t.bookLocked(change)
}

// background begins work that ends early if the file system is closed, and reports
// whether it could: not if it is closed already.
func (f *FS) background(work func(life context.Context)) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.root == nil {
		return false
	}
	f.work.Go(func() { work(f.life) })
	return true
}
