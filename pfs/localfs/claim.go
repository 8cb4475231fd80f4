package localfs

import (
	"context"
	"sync"
)

// need is the growth of a tree that an operation may cause.
type need struct {
	limits        // added when it is done
	staged limits // held by uploads until then
}

// plus returns a + sign*b.
func (a need) plus(b need, sign int64) need {
	return need{a.limits.plus(b.limits, sign), a.staged.plus(b.staged, sign)}
}

// beyond returns the parts of a that exceed b.
func (a need) beyond(b need) need {
	return need{a.limits.beyond(b.limits), a.staged.beyond(b.staged)}
}

// claim is quota that is reserved in some trees for a running operation. It ends with the first
// call of book or release.
type claim struct {
	trees []*tree

	mu    sync.Mutex
	held  need
	ended bool
}

// claim reserves bytes and files (or directories) in the trees. It returns Quota if one of them
// lacks the space.
func (f *FS) claim(ctx context.Context, trees []*tree, bytes, files int64) (*claim, error) {
	if err := f.ready(ctx, trees); err != nil {
		return nil, err
	}
	c := &claim{trees: trees}
	return c, c.reach(need{limits: limits{bytes, files}})
}

// ready waits until all trees are counted.
func (f *FS) ready(ctx context.Context, trees []*tree) error {
	for _, t := range trees {
		if err := t.ready(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// reach grows the claim to at least want.
func (c *claim) reach(want need) error {
	if len(c.trees) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	more := want.beyond(c.held)
	if c.ended || more == (need{}) {
		return nil
	}
	for i, t := range c.trees {
		if err := t.take(more); err != nil {
			for _, t := range c.trees[:i] {
				t.give(more, sums{})
			}
			return err
		}
	}
	c.held = c.held.plus(more, 1)
	return nil
}

// book ends the claim and books the actual change.
func (c *claim) book(change sums) {
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

// release ends the claim without a change.
func (c *claim) release() { c.book(sums{}) }

// book books a change that needs no claim.
func book(trees []*tree, change sums) {
	for _, t := range trees {
		t.book(change)
	}
}
