//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Rename renames oldName to newName.
func (f FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, renaming{op: "cephfs.Rename", from: oldName, to: newName})
}

// RenameExclusive is Rename, but returns Exist if newName exists.
func (f FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, renaming{op: "cephfs.RenameExclusive", from: oldName, to: newName, exclusive: true})
}

// renaming is the state of one rename.
type renaming struct {
	op        string
	from, to  pfs.Path
	exclusive bool

	moved    stat // stat of from
	replaced stat // stat of to
	taken    bool // to exists
}

// rename renames with the directories of both names open.
func (f FS) rename(ctx context.Context, r renaming) error {
	if err := check(ctx, r.op, r.to); err != nil {
		return err
	}
	if err := writable(r.op, r.to); err != nil {
		return err
	}
	return f.change(ctx, r.op, r.from, func(d *dir, base string) error {
		st, err := d.stat(base)
		if err != nil {
			return err
		}
		r.moved = st
		if done, err := r.sameOrInside(); done || err != nil {
			return err
		}
		to, newBase, err := d.c.parent(r.to)
		if err != nil {
			return fail(r.op, r.to, err)
		}
		defer to.Close()
		return fail(r.op, r.to, r.do(d, base, to, newBase))
	}, r.to)
}

// sameOrInside ends a rename of a name to itself, of the root, or of a directory into itself.
func (r *renaming) sameOrInside() (done bool, err error) {
	switch {
	case r.from == r.to && !r.exclusive:
		return true, nil
	case r.from == r.to || r.to == pfs.Root:
		return true, pfs.E(r.op, r.to, pfs.Exist, nil)
	case r.from == pfs.Root, r.moved.mode.IsDir() && r.to.Within(r.from):
		return true, pfs.Errorf(r.op, r.from, pfs.Invalid, "it cannot be moved into itself, to %s", r.to)
	}
	return false, nil
}

// do renames between two open directories.
func (r *renaming) do(d *dir, base string, to *dir, newBase string) error {
	if err := r.lookAt(to, newBase); err != nil {
		return err
	}
	if r.taken && r.moved.same(r.replaced) {
		return nil // both are names of one file, and both stay, as in POSIX
	}
	err := to.durably(func() error {
		return d.durably(func() error {
			// A sync of the directories does not wait for a rename; a sync of the renamed file
			// does.
			return d.durablyOn(base, func(*cInode, stat) error { return r.move(d, base, to, newBase) })
		})
	})
	if err == nil {
		return nil
	}
	switch kindOf(err) {
	case pfs.Exist, pfs.NotEmpty, pfs.IsDir, pfs.NotDir:
		return r.refused(to, newBase, err)
	case pfs.NotExist:
		return pfs.E(r.op, r.from, pfs.NotExist, nil)
	}
	return err
}

// move gives the new name. A directory must not replace anything, not even an empty directory,
// which the store would allow.
func (r *renaming) move(d *dir, base string, to *dir, newBase string) error {
	return d.rename(base, to, newBase, r.exclusive || r.moved.mode.IsDir())
}

// lookAt refuses a file at the new name that may not be replaced.
func (r *renaming) lookAt(to *dir, newBase string) error {
	st, err := to.stat(newBase)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.replaced, r.taken = st, true
	switch {
	case r.exclusive, r.replaced.mode.IsDir():
		return pfs.E(r.op, r.to, pfs.Exist, nil)
	case r.moved.mode.IsDir():
		return pfs.E(r.op, r.to, pfs.NotDir, nil)
	}
	return nil
}

// refused finds out why the store refused: the new name may have just appeared.
func (r *renaming) refused(to *dir, newBase string, err error) error {
	if e := r.lookAt(to, newBase); e != nil {
		return e
	}
	return err
}
