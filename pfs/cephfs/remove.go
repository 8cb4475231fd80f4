//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// walkPage is the number of entries of a directory that are read at once.
	walkPage = 1024
	// removeTries limits how often Remove clears a directory in which uploads keep appearing.
	removeTries = 10
)

// Remove removes the file, link or empty directory name. Temporaries in a directory are removed
// with it.
func (f FS) Remove(ctx context.Context, name pfs.Path) error {
	const op = "cephfs.Remove"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := d.stat(base)
		if err != nil {
			return err
		}
		return d.durably(func() error {
			if st.mode.IsDir() {
				return d.removeDir(op, base, name)
			}
			return d.unlink(base)
		})
	})
}

// removeDir removes a directory that holds only temporaries.
func (d *dir) removeDir(op, base string, name pfs.Path) (err error) {
	for tries := 0; tries < removeTries; {
		err = d.rmdir(base)
		if err == nil || kindOf(err) != pfs.NotEmpty {
			return err
		}
		removed, others, err := d.clearHidden(base)
		if err != nil {
			return err
		}
		if others {
			return pfs.E(op, name, pfs.NotEmpty, nil)
		}
		if removed == 0 {
			tries++
		}
	}
	return pfs.Errorf(op, name, pfs.NotEmpty, "it has snapshots, or new uploads keep appearing in it")
}

// clearHidden removes one page of temporaries of the directory base, if it holds nothing else.
func (d *dir) clearHidden(base string) (removed int, others bool, err error) {
	sub, err := d.element(base)
	if err != nil {
		return 0, false, err
	}
	defer sub.Close()
	hidden, others, err := sub.hidden()
	if err != nil || others {
		return 0, others, err
	}
	r := remover{top: sub}
	for _, e := range hidden {
		if err := unlessMissing(r.all(sub, e)); err != nil {
			return removed, false, err
		}
		removed++
	}
	return removed, false, nil
}

// hidden returns the first page of temporaries of d. others reports that d has entries of users.
func (d *dir) hidden() (found []entry, others bool, err error) {
	for token := ""; ; {
		page, next, err := d.entries(token, walkPage)
		if err != nil {
			return nil, false, err
		}
		for _, e := range page {
			if !pfs.IsTemp(e.name, e.st.mode) {
				return nil, true, nil
			}
		}
		if len(found) < walkPage {
			found = append(found, page...)
		}
		if next == "" {
			return found, false, nil
		}
		token = next
	}
}

// RemoveTree removes name and everything below it. It does not follow links: each directory is
// opened by its name in its open parent.
func (f FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	const op = "cephfs.RemoveTree"
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := d.stat(base)
		if err != nil {
			return err
		}
		r := remover{top: d}
		return d.durably(func() error { return r.all(d, entry{name: base, st: st}) })
	})
}

// maxDepth is the depth to which RemoveTree keeps a directory open per level. It first moves deeper
// directories to the top.
const maxDepth = 64

// remover removes one tree.
type remover struct {
	top    *dir     // where directories that are too deep are moved to
	lifted []string // hidden names in top
	gone   int      // number of entries that it has removed or lifted itself
}

// all removes e of d and the directories lifted from it.
func (r *remover) all(d *dir, e entry) error {
	if err := r.remove(d, e, 0); err != nil {
		return err
	}
	for len(r.lifted) > 0 {
		name := r.lifted[len(r.lifted)-1]
		r.lifted = r.lifted[:len(r.lifted)-1]
		st, err := r.top.stat(name)
		if err == nil {
			err = r.remove(r.top, entry{name: name, st: st}, 0)
		}
		if err := unlessMissing(err); err != nil {
			return err
		}
	}
	return nil
}

// remove removes one entry. An entry that is already gone is a success.
func (r *remover) remove(d *dir, e entry, depth int) error {
	switch {
	case !e.st.mode.IsDir():
		return r.counted(d.unlink(e.name))
	case depth >= maxDepth:
		return r.lift(d, e.name)
	}
	if err := r.empty(d, e.name, depth); err != nil {
		return unlessMissing(err)
	}
	err := r.counted(d.rmdir(e.name))
	if kindOf(err) == pfs.NotEmpty {
		return pfs.Errorf("cephfs.RemoveTree", "", pfs.NotEmpty, "nothing more can be removed in its directory %q: it has snapshots, or new entries keep appearing", e.name)
	}
	return err
}

// counted counts the entry as removed unless err says otherwise; an entry that was gone already is
// no error.
func (r *remover) counted(err error) error {
	if err == nil {
		r.gone++
	}
	return unlessMissing(err)
}

// lift moves a directory beside the tree, under a hidden name, to be removed later. So memory is
// bounded, regardless of the depth of the tree.
func (r *remover) lift(d *dir, name string) error {
	hidden := pfs.RemovedName()
	if err := d.rename(name, r.top, hidden, false); err != nil {
		return unlessMissing(err)
	}
	r.lifted = append(r.lifted, hidden)
	return r.counted(nil)
}

// empty removes everything in the directory name of d, until a listing from the start finds nothing
// to remove. An entry that is listed but missing does not count, as it would for ever: rmdir
// decides.
func (r *remover) empty(d *dir, name string, depth int) error {
	sub, err := d.element(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	for token, before := "", r.gone; ; {
		page, next, err := sub.entries(token, walkPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := r.remove(sub, e, depth+1); err != nil {
				return err
			}
		}
		token = next
		if next == "" {
			if r.gone == before {
				return nil
			}
			before = r.gone
		}
	}
}
