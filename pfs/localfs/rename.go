package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Rename renames oldName to newName.
func (f *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, rules.Rename{Op: "localfs.Rename", From: oldName, To: newName})
}

// RenameExclusive is Rename, but returns Exist if newName exists.
func (f *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, rules.Rename{Op: "localfs.RenameExclusive", From: oldName, To: newName, Exclusive: true})
}

// rename is the state of one rename.
type rename struct {
	rules.Rename

	moved    stat // stat of from
	replaced stat // stat of to
	taken    bool // to exists
}

func (f *FS) rename(ctx context.Context, how rules.Rename) error {
	r := rename{Rename: how}
	if err := f.check(ctx, r.Op, r.To); err != nil {
		return err
	}
	return f.change(ctx, r.Op, r.From, func(d place, base string) error {
		st, err := d.dir.stat(base, false)
		if err != nil {
			return err
		}
		r.moved = st
		if done, err := r.Begin(st.mode); done || err != nil {
			return err
		}
		to, newBase, err := f.parentPlace(r.To)
		if err != nil {
			return fail(r.Op, r.To, err)
		}
		defer to.dir.Close()
		if err := f.renameTo(ctx, r, named{d, base}, named{to, newBase}); err != nil {
			return fail(r.Op, r.To, err)
		}
		return fail(r.Op, r.To, f.syncBoth(d.dir, to.dir, r.From.Parent() == r.To.Parent()))
	})
}

// renameTo renames between two open directories, without a sync. It moves and replaces exactly the
// files that it looked at and counted.
func (f *FS) renameTo(ctx context.Context, r rename, from, to named) error {
	entered, _, _ := borders(from.place, to.place)
	if err := f.ready(ctx, entered); err != nil {
		return err
	}
	release, err := f.hold(from, to)
	if err != nil {
		return err
	}
	defer release()
	defer f.holdFiles(from, to)()
	if len(from.trees)+len(to.trees) > 0 {
		if r.moved, err = from.dir.stat(from.name, false); err != nil {
			return r.refused(to.dir, to.name, err)
		}
	}
	if err := r.lookAt(to.dir, to.name); err != nil {
		return err
	}
	c, err := f.claimMove(ctx, r, from, to)
	if err != nil {
		return err
	}
	defer c.release()
	// A directory must not replace anything, not even the empty directory that the system would
	// replace.
	if err := from.dir.rename(from.name, to.dir, to.name, r.Exclusive || r.moved.mode.IsDir()); err != nil {
		return r.refused(to.dir, to.name, err)
	}
	if err := r.dropSecondName(from.dir, from.name); err != nil {
		return err
	}
	c.book()
	if r.moved.mode.IsDir() {
		f.quotas.forget(r.From)
		f.quotas.forget(r.To)
	}
	return nil
}

// lookAt refuses a file at the new name that may not be replaced.
func (r *rename) lookAt(to dir, newBase string) error {
	st, err := to.stat(newBase, false)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.replaced, r.taken = st, true
	return r.Replace(r.moved.mode, st.mode)
}

// refused finds out why the system refused: the new name has just appeared, or the old one has just
// gone.
func (r rename) refused(to dir, newBase string, err error) error {
	switch kindOf(err) {
	case pfs.Exist, pfs.NotEmpty, pfs.IsDir, pfs.NotDir:
		if e := r.lookAt(to, newBase); e != nil {
			return e
		}
	case pfs.NotExist:
		return pfs.E(r.Op, r.From, pfs.NotExist, nil)
	}
	return err
}

// dropSecondName removes the old name if both are names of one file, for which the system does
// nothing.
func (r rename) dropSecondName(d dir, base string) error {
	if !r.taken || r.moved.links < 2 || !r.moved.same(r.replaced) {
		return nil
	}
	return posix.UnlessMissing(d.unlink(base))
}

// syncBoth makes a renaming durable.
func (f *FS) syncBoth(d, to dir, same bool) error {
	err := f.syncDir(to)
	if err == nil && !same {
		err = f.syncDir(d)
	}
	return err
}
