package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Remove removes the file, link or empty directory name. Temporaries in a directory are removed
// with it.
func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "localfs.Remove", name, func(d emptied, e child) error {
		if e.IsDir() {
			return posix.NewRemover(d).Directory(e)
		}
		return d.Unlink(e)
	})
}

// RemoveTree removes name and everything below it. It does not follow links.
func (f *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "localfs.RemoveTree", name, func(d emptied, e child) error {
		// Quotas in the tree may be gone even if only a part was removed.
		defer f.quotas.forget(name)
		return posix.NewRemover(d).Tree(e)
	})
}

// removing begins a removal of name and calls do with it and its directory.
func (f *FS) removing(ctx context.Context, op string, name pfs.Path, do func(d emptied, e child) error) error {
	return f.change(ctx, op, name, func(p place, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := p.dir.stat(base, false)
		if err == nil {
			err = do(emptied{ctx, f, op, p.dir, p}, child{base, st})
		}
		if err != nil {
			return err
		}
		if st.mode.IsDir() {
			f.quotas.forget(name)
		}
		return f.syncDir(p.dir)
	})
}

// emptied is an open directory whose entries are removed. Each removal is booked at once, so that a
// running count of the tree can be compared with the totals.
type emptied struct {
	ctx context.Context
	f   *FS
	op  string
	top dir // of the removal
	place
}

// child is an entry of an emptied directory.
type child struct {
	name string
	st   stat
}

func (e child) IsDir() bool  { return e.st.mode.IsDir() }
func (e child) Hidden() bool { return hidden(e.name, e.st) }

func (d emptied) Close() { d.dir.Close() }

func (d emptied) Entries(token string, limit int) (page []child, next string, err error) {
	if err := pfs.CheckContext(d.ctx, d.op, ""); err != nil {
		return nil, "", err
	}
	names, next, err := d.dir.entries(token, limit)
	for _, name := range names {
		st, err := d.dir.stat(name, false)
		if err == nil {
			page = append(page, child{name, st})
		} else if !missing(err) {
			return nil, "", err
		}
	}
	return page, next, err
}

func (d emptied) Enter(e child) (posix.Dir[child], error) {
	sub, err := d.dir.open(e.name)
	d.dir = sub
	return d, err
}

// Unlink books e with its size at that moment.
func (d emptied) Unlink(e child) error {
	return d.f.holding(named{d.place, e.name}, "", func() error {
		e.st = stat{}
		if len(d.trees) > 0 {
			var err error
			if e.st, err = d.dir.stat(e.name, false); err != nil {
				return err
			}
		}
		if err := d.dir.unlink(e.name); err != nil {
			return err
		}
		d.book(e)
		return nil
	})
}

func (d emptied) Rmdir(e child) error {
	release, err := d.f.hold(named{d.place, e.name})
	if err != nil {
		return err
	}
	defer release()
	if err := d.dir.rmdir(e.name); err != nil {
		return err
	}
	d.book(e)
	return nil
}

func (d emptied) Lift(e child) (child, error) {
	release, err := d.f.hold(named{d.place, e.name})
	if err != nil {
		return child{}, err
	}
	defer release()
	lifted := pfs.RemovedName()
	if err := d.dir.rename(e.name, d.top, lifted, true); err != nil {
		return child{}, err
	}
	d.book(e)
	st, err := d.top.stat(lifted, false)
	return child{lifted, st}, err
}

// book books the removal of e.
func (d emptied) book(e child) {
	switch {
	case !e.Hidden():
		book(d.trees, sumsOf(e.st).negated())
	case isStaged(e.name, e.st) && !d.f.quotas.claimed(newTempID(e.name, e.st)):
		book(d.trees, stagedSums(e.st).negated())
	}
}
