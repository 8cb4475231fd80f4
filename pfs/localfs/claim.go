package localfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// claim is what an operation under way may add to the trees that it works in. It
// ends with settle or release, whichever comes first.
type claim struct {
	trees []*tree

	mu    sync.Mutex
	held  limits
	ended bool
}

// claim takes room for bytes and files (or directories) in the trees. It answers Quota
// if one of them has not so much left.
func (f *FS) claim(ctx context.Context, trees []*tree, bytes, files int64) (*claim, error) {
	if err := f.ready(ctx, trees); err != nil {
		return nil, err
	}
	c := &claim{trees: trees}
	return c, c.reach(bytes, files)
}

// ready returns once all trees were counted.
func (f *FS) ready(ctx context.Context, trees []*tree) error {
	for _, t := range trees {
		if err := t.ready(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// reach makes the claim at least so large.
func (c *claim) reach(bytes, files int64) error {
	if len(c.trees) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	more := limits{bytes: max(0, bytes-c.held.bytes), files: max(0, files-c.held.files)}
	if c.ended || more == (limits{}) {
		return nil
	}
	for i, t := range c.trees {
		if err := t.take(more); err != nil {
			for _, t := range c.trees[:i] {
				t.give(more, pfs.Usage{})
			}
			return err
		}
	}
	c.held.bytes += more.bytes
	c.held.files += more.files
	return nil
}

// settle gives the claim back and books what has changed in fact.
func (c *claim) settle(change pfs.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	for _, t := range c.trees {
		t.give(c.held, change)
	}
}

// release gives the claim back: nothing has changed.
func (c *claim) release() { c.settle(pfs.Usage{}) }

// book notes in the trees a change that needs no room.
func book(trees []*tree, change pfs.Usage) {
	for _, t := range trees {
		t.book(change)
	}
}
