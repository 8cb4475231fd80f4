package localfs

import (
	"context"
	"fmt"
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
	used    pfs.Usage // what is published, and staged by nobody here
	claims  limits    // what operations under way, staged writes included, will need
	counted time.Time // of used; zero: not yet
	count   *count    // the walk that is on, nil if none is
}

// count is one walk of a tree.
type count struct {
	done    chan struct{} // closed at its end
	err     error
	net     pfs.Usage // booked since it began
	touched pfs.Usage // the same without signs
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
	u := t.used
	u.Bytes += t.claims.bytes
	u.MaxBytes, u.MaxFiles = t.limits.bytes, t.limits.files
	return u
}

// ready returns once the tree was counted. A count that is merely old is begun
// again and not waited for.
func (t *tree) ready(ctx context.Context, f *FS) error {
	t.mu.Lock()
	first := t.counted.IsZero()
	if !first && time.Since(t.counted) < f.opts.RecountEvery {
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
	if err == nil && (first || !within(found, t.used, c.touched)) {
		t.used = sum(found, c.net, 1)
	}
	if err == nil || !first { // else the next operation tries again
		t.counted = time.Now()
	}
}

// within reports whether a and b differ by no more than by.
func within(a, b, by pfs.Usage) bool {
	return abs(a.Bytes-b.Bytes) <= by.Bytes && abs(a.Files-b.Files) <= by.Files && abs(a.Dirs-b.Dirs) <= by.Dirs
}

func abs(n int64) int64 { return max(n, -n) }

// book adds a change to the sums.
func (t *tree) book(change pfs.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bookLocked(change)
}

func (t *tree) bookLocked(change pfs.Usage) {
	if c := t.count; c != nil {
		c.net = sum(c.net, change, 1)
		c.touched.Bytes += abs(change.Bytes)
		c.touched.Files += abs(change.Files)
		c.touched.Dirs += abs(change.Dirs)
	}
	if !t.counted.IsZero() {
		t.used = sum(t.used, change, 1)
	}
}

// take claims more, if the limits allow it.
func (t *tree) take(more limits) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes, files := t.used.Bytes+t.claims.bytes, t.used.Files+t.used.Dirs+t.claims.files
	if exceeds(bytes, more.bytes, t.limits.bytes) {
		return t.exceeded(size(bytes), size(more.bytes), size(t.limits.bytes), "")
	}
	if exceeds(files, more.files, t.limits.files) {
		return t.exceeded(fmt.Sprint(files), fmt.Sprint(more.files), fmt.Sprint(t.limits.files), " files and directories")
	}
	t.claims.bytes += more.bytes
	t.claims.files += more.files
	return nil
}

// give returns a claim and books what became of it.
func (t *tree) give(claimed limits, change pfs.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims.bytes -= claimed.bytes
	t.claims.files -= claimed.files
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
