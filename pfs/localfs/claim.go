package localfs

import (
	"context"
	"sync"
)

// need is what an operation under way may add to a tree.
type need struct {
	limits        // what will be there more than now, once it is done
	staged limits // what it keeps in staged writes until then
}

// plus adds b times sign.
func (a need) plus(b need, sign int64) need {
	return need{a.limits.plus(b.limits, sign), a.staged.plus(b.staged, sign)}
}

// beyond returns by how much a is more than b.
func (a need) beyond(b need) need {
	return need{a.limits.beyond(b.limits), a.staged.beyond(b.staged)}
}

// claim is what an operation under way may add to the trees that it works in. It
// ends with settle or release, whichever comes first.
type claim struct {
	trees []*tree

	mu    sync.Mutex
	held  need
	ended bool
}

// claim takes room for bytes and files (or directories) in the trees. It answers Quota
// if one of them has not so much left.
func (f *FS) claim(ctx context.Context, trees []*tree, bytes, files int64) (*claim, error) {
	if err := f.ready(ctx, trees); err != nil {
		return nil, err
	}
	c := &claim{trees: trees}
	return c, c.reach(need{limits: limits{bytes, files}})
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

// settle gives the claim back and books what has changed in fact.
func (c *claim) settle(change sums) {
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
func (c *claim) release() { c.settle(sums{}) }

// book notes in the trees a change that needs no room.
func book(trees []*tree, change sums) {
	for _, t := range trees {
		t.book(change)
	}
}
