package localfs

import (
	"context"
	"slices"
)

// move is the effect of a rename on quotas. The trees that it enters gain what the trees that it
// leaves lose, and all trees of the new name lose the replaced file.
type move struct {
	entered  *claim
	left     []*tree
	both     []*tree
	moved    sums
	replaced sums
	isDir    bool // a directory moves
}

// borders returns the trees that a rename enters, those that it leaves, and those that it stays in.
func borders(from, to place) (entered, left, both []*tree) {
	for _, t := range to.trees {
		if slices.Contains(from.trees, t) {
			both = append(both, t)
		} else {
			entered = append(entered, t)
		}
	}
	for _, t := range from.trees {
		if !slices.Contains(to.trees, t) {
			left = append(left, t)
		}
	}
	return entered, left, both
}

// claimMove claims quota in the trees that a rename enters. A directory is counted for that, but
// only if it crosses the border of a tree.
func (f *FS) claimMove(ctx context.Context, r rename, from, to named) (m *move, err error) {
	m = &move{isDir: r.moved.mode.IsDir()}
	entered, left, both := borders(from.place, to.place)
	m.left, m.both = left, both
	if r.taken {
		m.replaced = sumsOf(r.replaced)
	}
	if len(entered)+len(m.left) > 0 {
		if m.moved, err = f.sumsOfAll(ctx, from.dir, from.name, r.moved); err != nil {
			return nil, err
		}
	}
	net := m.moved.plus(m.replaced, -1)
	m.entered, err = f.claim(ctx, entered, net.bytes, net.files+net.dirs+net.staged.files)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// sumsOfAll returns the totals of base and everything below it.
func (f *FS) sumsOfAll(ctx context.Context, d dir, base string, st stat) (sums, error) {
	u := sumsOf(st)
	if !st.mode.IsDir() {
		return u, nil
	}
	sub, err := d.open(base)
	if err != nil {
		return u, err
	}
	defer sub.Close()
	inside, err := f.count(ctx, sub, f.quotas.claimed)
	return u.plus(inside, 1), err
}

// book ends the claim and books the rename. Changes below a directory during the count and the move may
// have been booked on either side of the border, so those trees are counted again.
func (m *move) book() {
	m.entered.book(m.moved.plus(m.replaced, -1))
	book(m.left, m.moved.negated())
	book(m.both, m.replaced.negated())
	if !m.isDir {
		return
	}
	for _, t := range slices.Concat(m.entered.trees, m.left) {
		t.doubt()
	}
}

// release ends the claim without a change, unless book came first.
func (m *move) release() { m.entered.release() }
