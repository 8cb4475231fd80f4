package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// removeTries bounds how often Remove clears a directory in which staged writes
// keep appearing.
const removeTries = 10

// Remove removes the file, link or empty directory name. Temporaries in a directory
// go with it.
func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	const op = "localfs.Remove"
	return f.at(ctx, op, name, func(d dir, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := d.stat(base, false)
		if err != nil {
			return err
		}
		trees, err := f.treesOf(name.Parent())
		if err != nil {
			return err
		}
		gone := usageOf(st)
		if st.mode.IsDir() {
			var staged int64
			staged, err = f.removeDir(ctx, d, base, name)
			gone.Bytes += staged
		} else {
			err = d.unlink(base)
		}
		if err != nil {
			return err
		}
		for _, t := range trees {
			t.book(sum(pfs.Usage{}, gone, -1))
		}
		return f.syncDir(d)
	})
}

// usageOf is what one entry adds to the usage of its tree.
func usageOf(st stat) pfs.Usage {
	if st.mode.IsDir() {
		return pfs.Usage{Dirs: 1}
	}
	return pfs.Usage{Bytes: st.size, Files: 1}
}

// removeDir removes a directory that holds nothing but temporaries, and returns
// what those of them held that nobody has open.
func (f *FS) removeDir(ctx context.Context, d dir, base string, name pfs.Path) (staged int64, err error) {
	const op = "localfs.Remove"
	for tries := 0; tries < removeTries; {
		err = d.rmdir(base)
		if kindOf(err) != pfs.NotEmpty && kindOf(err) != pfs.Exist {
			break
		}
		if err := pfs.CheckContext(ctx, op, name); err != nil {
			return staged, err
		}
		c, err := f.clearHidden(ctx, op, d, base)
		staged += c.held
		if err != nil {
			return staged, err
		}
		if c.others {
			return staged, pfs.E(op, name, pfs.NotEmpty, nil)
		}
		if c.removed == 0 {
			tries++
		}
	}
	if err == nil {
		f.quotas.forget(name)
	}
	return staged, err
}

// cleared is what clearHidden found.
type cleared struct {
	others  bool  // there are entries of users; nothing was removed
	removed int   // temporaries
	held    int64 // bytes of those that nobody has open
}

// clearHidden removes temporaries of the directory base, a page of them, if it has
// nothing else.
func (f *FS) clearHidden(ctx context.Context, op string, d dir, base string) (c cleared, err error) {
	sub, err := d.open(base)
	if err != nil {
		return c, err
	}
	defer sub.Close()
	hidden, others, err := hiddenIn(sub)
	if err != nil || others {
		return cleared{others: others}, err
	}
	r := remover{ctx: ctx, f: f, op: op, top: sub}
	for _, entry := range hidden {
		st, err := sub.stat(entry, false)
		if err == nil {
			err = r.remove(sub, entry, st, 0)
			c.removed++
		}
		if err == nil {
			err = r.removeLifted()
		}
		if unlessMissing(err) != nil {
			return c, err
		}
	}
	c.held = r.gone.Bytes
	return c, nil
}

// hiddenIn returns the first page of temporaries of d, or that there are entries of
// users among them.
func hiddenIn(d dir) (hidden []string, others bool, err error) {
	for token := ""; ; {
		names, next, err := d.entries(token, walkPage)
		if err != nil {
			return nil, false, err
		}
		for _, entry := range names {
			if !isHidden(entry) {
				return nil, true, nil
			}
		}
		if len(hidden) < walkPage {
			hidden = append(hidden, names...)
		}
		if next == "" {
			return hidden, false, nil
		}
		token = next
	}
}
