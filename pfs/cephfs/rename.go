//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Rename renames oldName to newName.
func (f FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, rules.Rename{Op: "cephfs.Rename", From: oldName, To: newName})
}

// RenameExclusive is Rename, but returns Exist if newName exists.
func (f FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, rules.Rename{Op: "cephfs.RenameExclusive", From: oldName, To: newName, Exclusive: true})
}

// renaming is the state of one rename.
type renaming struct {
	rules.Rename

	moved    stat // stat of from
	replaced stat // stat of to
	taken    bool // to exists
}

// rename renames with the directories of both names open.
func (f FS) rename(ctx context.Context, how rules.Rename) error {
	r := renaming{Rename: how}
	if err := check(ctx, r.Op, r.To); err != nil {
		return err
	}
	if err := writable(r.Op, r.To); err != nil {
		return err
	}
	return f.change(ctx, r.Op, r.From, func(d *dir, base string) error {
		st, err := d.stat(base)
		if err != nil {
			return err
		}
		r.moved = st
		if done, err := r.Begin(st.mode); done || err != nil {
			return err
		}
		to, newBase, err := d.c.parent(r.To)
		if err != nil {
			return fail(r.Op, r.To, err)
		}
		defer to.Close()
		return fail(r.Op, r.To, r.do(d, base, to, newBase))
	}, r.To)
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
		return pfs.E(r.Op, r.From, pfs.NotExist, nil)
	}
	return err
}

// move gives the new name. A directory must not replace anything, not even an empty directory,
// which the store would allow.
func (r *renaming) move(d *dir, base string, to *dir, newBase string) error {
	return d.rename(base, to, newBase, r.Exclusive || r.moved.mode.IsDir())
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
	return r.Replace(r.moved.mode, st.mode)
}

// refused finds out why the store refused: the new name may have just appeared.
func (r *renaming) refused(to *dir, newBase string, err error) error {
	if e := r.lookAt(to, newBase); e != nil {
		return e
	}
	return err
}
