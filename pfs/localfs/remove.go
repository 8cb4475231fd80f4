package localfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// removeTries limits how often Remove clears a directory in which temporaries keep appearing.
const removeTries = 10

// Remove removes the file, link or empty directory name. Temporaries in a directory are removed
// with it.
func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "localfs.Remove", name, func(r *remover, base string, st stat) error {
		if st.mode.IsDir() {
			return r.removeDir(base, st)
		}
		return r.unlink(r.top, base)
	})
}

// removing begins a removal of name and calls do with the stat of name.
func (f *FS) removing(ctx context.Context, op string, name pfs.Path, do func(r *remover, base string, st stat) error) error {
	return f.change(ctx, op, name, func(p place, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := p.dir.stat(base, false)
		if err != nil {
			return err
		}
		r := remover{ctx: ctx, f: f, op: op, top: p.dir, trees: p.trees}
		if err := do(&r, base, st); err != nil {
			return err
		}
		if st.mode.IsDir() {
			f.quotas.forget(name)
		}
		return f.syncDir(p.dir)
	})
}

// unlink removes the entry name of d, which is not a directory, and books it with its size at that
// moment.
func (r *remover) unlink(d dir, name string) error {
	return r.f.holding(named{place{d, r.trees}, name}, "", func() error {
		var st stat
		if len(r.trees) > 0 {
			var err error
			if st, err = d.stat(name, false); err != nil {
				return err
			}
		}
		if err := d.unlink(name); err != nil {
			return err
		}
		r.book(name, st)
		return nil
	})
}

// rmdir removes the empty directory name of d and books that.
func (r *remover) rmdir(d dir, name string, st stat) error {
	release, err := r.f.hold(named{place{d, r.trees}, name})
	if err != nil {
		return err
	}
	defer release()
	if err := d.rmdir(name); err != nil {
		return err
	}
	r.book(name, st)
	return nil
}

// removeDir removes the directory base of top, which may hold only temporaries.
func (r *remover) removeDir(base string, st stat) error {
	for tries := 0; ; tries++ {
		err := r.rmdir(r.top, base, st)
		if err == nil {
			return nil
		}
		if kind := kindOf(err); kind != pfs.NotEmpty && kind != pfs.Exist || tries == removeTries {
			return err
		}
		if err := r.clear(base); err != nil {
			return err
		}
	}
}

// clear removes the temporaries in the directory base of top, if it holds nothing else.
func (r *remover) clear(base string) error {
	sub, err := r.top.open(base)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := r.onlyHidden(sub); err != nil {
		return err
	}
	err = r.empty(sub, 0, hidden)
	return errors.Join(err, r.removeLifted())
}

// onlyHidden returns NotEmpty if d has entries of users.
func (r *remover) onlyHidden(d dir) error {
	for token := ""; ; {
		if err := pfs.CheckContext(r.ctx, r.op, ""); err != nil {
			return err
		}
		names, next, err := d.entries(token, walkPage)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !pfs.ReservedName(name) {
				return pfs.E(r.op, "", pfs.NotEmpty, nil)
			}
			st, err := d.stat(name, false)
			if err == nil && !hidden(name, st) {
				err = pfs.E(r.op, "", pfs.NotEmpty, nil)
			}
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		token = next
	}
}
