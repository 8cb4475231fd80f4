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
func (f *FS) claimMove(ctx context.Context, r rename, d place, base string, to place) (m *move, err error) {
	m = &move{}
	var entered []*tree
	for _, t := range to.trees {
		if slices.Contains(d.trees, t) {
			m.both = append(m.both, t)
		} else {
			entered = append(entered, t)
		}
	}
	for _, t := range d.trees {
		if !slices.Contains(to.trees, t) {
			m.left = append(m.left, t)
		}
	}
	if r.taken {
		m.replaced = usageOf(r.replaced)
	}
	if len(entered)+len(m.left) > 0 {
		if m.moved, err = f.usageOfAll(ctx, d.dir, base, r.moved); err != nil {
			return nil, err
		}
	}
	net := sum(m.moved, m.replaced, -1)
	m.entered, err = f.claim(ctx, entered, net.Bytes, net.Files+net.Dirs)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// usageOfAll is what base and all below it add to a tree.
func (f *FS) usageOfAll(ctx context.Context, d dir, base string, st stat) (pfs.Usage, error) {
	u := usageOf(st)
	if !st.mode.IsDir() {
		return u, nil
	}
	sub, err := d.open(base)
	if err != nil {
		return u, err
	}
	defer sub.Close()
	inside, err := f.count(ctx, sub, f.quotas.claimed)
	return sum(u, inside, 1), err
}

// settle books the renaming, which was done.
func (m *move) settle() {
	m.entered.settle(sum(m.moved, m.replaced, -1))
	book(m.left, sum(pfs.Usage{}, m.moved, -1))
	book(m.both, sum(pfs.Usage{}, m.replaced, -1))
}

// release gives the room back, if settle did not come first.
func (m *move) release() { m.entered.release() }
