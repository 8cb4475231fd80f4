package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// removeTries bounds how often Remove clears a directory in which temporaries keep
// appearing.
const removeTries = 10

// Remove removes the file, link or empty directory name. Temporaries in a directory
// go with it.
func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "localfs.Remove", name, func(r *remover, base string, st stat) error {
		if st.mode.IsDir() {
			return r.removeDir(base, st)
		}
		if err := r.top.unlink(base); err != nil {
			return err
		}
		r.count(base, st)
		return nil
	})
}

// removing begins what removes name, calls do with what name is, and books what is gone
// then, even if not all is that should be.
func (f *FS) removing(ctx context.Context, op string, name pfs.Path, do func(r *remover, base string, st stat) error) error {
	return f.change(ctx, op, name, func(p place, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := p.dir.stat(base, false)
		if err != nil {
			return err
		}
		r := remover{ctx: ctx, f: f, op: op, top: p.dir}
		err = do(&r, base, st)
		book(p.trees, sum(pfs.Usage{}, r.gone, -1))
		if err != nil {
			return err
		}
		if st.mode.IsDir() {
			f.quotas.forget(name)
		}
		return f.syncDir(p.dir)
	})
}

// usageOf is what one entry adds to the usage of its tree.
func usageOf(st stat) pfs.Usage {
	if st.mode.IsDir() {
		return pfs.Usage{Dirs: 1}
	}
	return pfs.Usage{Bytes: st.size, Files: 1}
}

// removeDir removes the directory base of the top, which may hold nothing but
// temporaries.
func (r *remover) removeDir(base string, st stat) error {
	for tries := 0; ; tries++ {
		err := r.top.rmdir(base)
		if err == nil {
			r.count(base, st)
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

// clear removes the temporaries in the directory base of the top, if it has nothing
// else.
func (r *remover) clear(base string) error {
	sub, err := r.top.open(base)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := r.onlyHidden(sub); err != nil {
		return err
	}
	if err := r.empty(sub, 0, isHidden); err != nil {
		return err
	}
	return r.removeLifted()
}

// onlyHidden answers NotEmpty if d has entries of users.
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
			if !isHidden(name) {
				return pfs.E(r.op, "", pfs.NotEmpty, nil)
			}
		}
		if next == "" {
			return nil
		}
		token = next
	}
}
