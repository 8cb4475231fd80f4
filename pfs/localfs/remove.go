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
			staged, err = f.removeDir(d, base, name)
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
func (f *FS) removeDir(d dir, base string, name pfs.Path) (staged int64, err error) {
	for range removeTries {
		err = d.rmdir(base)
		if kindOf(err) != pfs.NotEmpty && kindOf(err) != pfs.Exist {
			break
		}
		held, empty, failed := f.clearHidden(d, base)
		staged += held
		if failed != nil {
			return staged, failed
		}
		if !empty {
			return staged, pfs.E("localfs.Remove", name, pfs.NotEmpty, nil)
		}
	}
	if err == nil {
		f.quotas.forget(name)
	}
	return staged, err
}

// clearHidden removes the temporaries of the directory base, if it has nothing
// else.
func (f *FS) clearHidden(d dir, base string) (held int64, empty bool, err error) {
	sub, err := d.open(base)
	if err != nil {
		return 0, false, err
	}
	defer sub.Close()
	var hidden []string
	for token := ""; ; {
		names, next, err := sub.entries(token, walkPage)
		if err != nil {
			return 0, false, err
		}
		for _, entry := range names {
			if !isHidden(entry) {
				return 0, false, nil
			}
			hidden = append(hidden, entry)
		}
		if next == "" || len(hidden) >= walkPage {
			break
		}
		token = next
	}
	for _, entry := range hidden {
		st, err := sub.stat(entry, false)
		if err == nil {
			err = sub.unlink(entry)
		}
		if err != nil && !missing(err) {
			return held, false, err
		}
		if err == nil && isStaged(entry) && !f.quotas.isOpen(entry) {
			held += st.held()
		}
	}
	return held, true, nil
}
