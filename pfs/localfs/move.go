package localfs

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// move is what a renaming does to the quotas: the trees that it enters get what
// those that it leaves lose, and all trees of the new name lose what is replaced.
type move struct {
	entered  *claim
	left     []*tree
	both     []*tree
	moved    pfs.Usage
	replaced pfs.Usage
}

// claimMove takes room in the trees that a renaming enters. A directory is counted
// for that, but only if it crosses the border of a tree.
func (f *FS) claimMove(ctx context.Context, r rename) (*move, error) {
	m := &move{entered: &claim{}}
	from, err := f.treesOf(r.from.Parent())
	if err != nil {
		return nil, err
	}
	to, err := f.treesOf(r.to.Parent())
	if err != nil {
		return nil, err
	}
	var entered []*tree
	for _, t := range to {
		if slices.Contains(from, t) {
			m.both = append(m.both, t)
		} else {
			entered = append(entered, t)
		}
	}
	for _, t := range from {
		if !slices.Contains(to, t) {
			m.left = append(m.left, t)
		}
	}
	if r.taken {
		m.replaced = usageOf(r.replaced)
	}
	if len(entered)+len(m.left) > 0 {
		if m.moved, err = f.usageOfAll(ctx, r.from, r.moved); err != nil {
			return nil, err
		}
	}
	net := sum(m.moved, m.replaced, -1)
	m.entered, err = f.claimOf(ctx, entered, net.Bytes, net.Files+net.Dirs)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// usageOfAll is what name and all below it add to a tree.
func (f *FS) usageOfAll(ctx context.Context, name pfs.Path, st stat) (pfs.Usage, error) {
	u := usageOf(st)
	if !st.mode.IsDir() {
		return u, nil
	}
	inside, err := f.count(ctx, name)
	return sum(u, inside, 1), err
}

// settle books the renaming, which was done.
func (m *move) settle() {
	m.entered.settle(sum(m.moved, m.replaced, -1))
	for _, t := range m.left {
		t.book(sum(pfs.Usage{}, m.moved, -1))
	}
	for _, t := range m.both {
		t.book(sum(pfs.Usage{}, m.replaced, -1))
	}
}

// release gives the room back, if settle did not come first.
func (m *move) release() { m.entered.release() }
