package localfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// maxDepth is the depth to which RemoveTree keeps a descriptor per level. It first moves deeper
// directories to the top.
const maxDepth = 64

// RemoveTree removes name and everything below it. It does not follow links: each directory is
// opened by its name in its open parent.
func (f *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "localfs.RemoveTree", name, func(r *remover, base string, st stat) error {
		// Quotas in the tree may be gone even if only a part was removed.
		defer f.quotas.forget(name)
		return r.removeAll(base, st)
	})
}

// remover removes one tree.
type remover struct {
	ctx   context.Context
	f     *FS
	op    string
	top   dir     // where directories that are too deep are moved to
	trees []*tree // that top is in

	lifted []string // hidden names in top
}

// removeAll removes the entry name of top and everything below it.
func (r *remover) removeAll(name string, st stat) error {
	err := r.remove(r.top, name, st, 0)
	return errors.Join(err, r.removeLifted())
}

// remove removes the entry name of d, except what is too deep. An entry that is already gone is a
// success.
func (r *remover) remove(d dir, name string, st stat, depth int) error {
	if !st.mode.IsDir() {
		return unlessMissing(r.unlink(d, name))
	}
	if depth >= maxDepth {
		return r.lift(d, name, st)
	}
	if err := r.removeBelow(d, name, depth); err != nil {
		return unlessMissing(err)
	}
	return unlessMissing(r.rmdir(d, name, st))
}

// book books the removal of one entry. It does so at once, so that a running count of the tree can
// be compared with the totals.
func (r *remover) book(name string, st stat) {
	switch {
	case !hidden(name, st):
		book(r.trees, sumsOf(st).negated())
	case isStaged(name, st) && !r.f.quotas.claimed(newTempID(name, st)):
		book(r.trees, stagedSums(st).negated())
	}
}

// lift moves a directory beside the tree, under a hidden name, to be removed later. So no tree is
// too deep for the descriptors or the stack of a process.
func (r *remover) lift(d dir, name string, st stat) error {
	lifted := pfs.RemovedName()
	release, err := r.f.hold(named{place{d, r.trees}, name})
	if err != nil {
		return err
	}
	defer release()
	if err := d.rename(name, r.top, lifted, true); err != nil {
		return unlessMissing(err)
	}
	r.book(name, st)
	r.lifted = append(r.lifted, lifted)
	return nil
}

// removeLifted removes the lifted directories, and those lifted from them. It continues after
// errors, since nobody sees what is left, and returns the first one.
func (r *remover) removeLifted() (first error) {
	for len(r.lifted) > 0 {
		name := r.lifted[len(r.lifted)-1]
		r.lifted = r.lifted[:len(r.lifted)-1]
		st, err := r.top.stat(name, false) // it may have been replaced before it was lifted
		if err == nil {
			err = r.remove(r.top, name, st, 0)
		}
		if err := unlessMissing(err); first == nil {
			first = err
		}
	}
	return first
}

// removeBelow removes the content of the directory name of d.
func (r *remover) removeBelow(d dir, name string, depth int) error {
	sub, err := d.open(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return r.empty(sub, depth+1, func(string, stat) bool { return true })
}

// empty removes the wanted entries of d, until a read from the start finds none.
func (r *remover) empty(d dir, depth int, wanted func(name string, st stat) bool) error {
	for token, removed := "", false; ; {
		if err := pfs.CheckContext(r.ctx, r.op, ""); err != nil {
			return err
		}
		names, next, err := d.entries(token, walkPage)
		if err != nil {
			return err
		}
		for _, name := range names {
			st, err := d.stat(name, false)
			if err == nil && !wanted(name, st) {
				continue
			}
			removed = true
			if err == nil {
				err = r.remove(d, name, st, depth)
			}
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
		token = next
		if next == "" {
			if !removed {
				return nil
			}
			removed = false
		}
	}
}

// unlessMissing turns the error of a missing file into success.
func unlessMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}
