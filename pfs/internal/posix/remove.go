package posix

import (
	"errors"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// MaxDepth is the depth to which a Remover keeps a directory open per level. It first moves
	// deeper directories to the top. So no tree is too deep for the memory, the descriptors or the
	// stack of a process.
	MaxDepth = 64
	// WalkPage is the number of entries of a directory that are read at once.
	WalkPage = 1024
	// removeTries limits how often Directory clears a directory in which temporaries keep appearing.
	removeTries = 10
)

// Dir is an open directory whose entries, of type E, a Remover removes. An entry that is missing is
// an error of the system, fs.ErrNotExist; a directory that is not empty is fs.ErrExist, as package
// syscall translates it.
type Dir[E Entry] interface {
	Close()

	// Entries returns a page of entries, and the token of the next page, "" at the end.
	Entries(token string, limit int) (page []E, next string, err error)

	// Enter opens the directory e. It does not follow a link.
	Enter(e E) (Dir[E], error)
	Unlink(e E) error
	Rmdir(e E) error

	// Lift moves the directory e beside the removed tree, under a hidden name, and returns what is
	// there afterwards: it may have been replaced before.
	Lift(e E) (E, error)
}

// Entry is an entry of a directory.
type Entry interface {
	IsDir() bool
	Hidden() bool // it is the store's own
}

// Remover removes trees and directories. It does not follow links: each directory is opened by its
// name in its open parent. Entries that others remove meanwhile are removed.
type Remover[E Entry] struct {
	top    Dir[E]
	lifted []E // in top
	gone   int // number of entries that it has removed or lifted itself
}

// NewRemover returns a Remover of entries of top.
func NewRemover[E Entry, D Dir[E]](top D) *Remover[E] { return &Remover[E]{top: top} }

// Tree removes the entry e of the top and everything below it.
func (r *Remover[E]) Tree(e E) error { return r.finish(r.remove(r.top, e, 0)) }

// Directory removes the directory e of the top, which may hold only temporaries.
func (r *Remover[E]) Directory(e E) error {
	for tries := 0; ; tries++ {
		err := r.top.Rmdir(e)
		if err == nil || !errors.Is(err, fs.ErrExist) || tries == removeTries {
			return err
		}
		if err := r.finish(r.clear(e)); err != nil {
			return err
		}
	}
}

// finish removes the lifted directories, and those lifted from them. It continues after errors,
// since nobody sees what is left, and returns the first one: err, if it is not nil.
func (r *Remover[E]) finish(err error) error {
	for len(r.lifted) > 0 {
		e := r.lifted[len(r.lifted)-1]
		r.lifted = r.lifted[:len(r.lifted)-1]
		if failed := r.remove(r.top, e, 0); err == nil {
			err = failed
		}
	}
	return err
}

// clear removes the temporaries in the directory e of the top, if it holds nothing else.
func (r *Remover[E]) clear(e E) error {
	d, err := r.top.Enter(e)
	if err != nil {
		return err
	}
	defer d.Close()
	for token := ""; ; {
		page, next, err := d.Entries(token, WalkPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if !e.Hidden() {
				return pfs.NotEmpty
			}
		}
		if token = next; next == "" {
			return r.empty(d, 0, E.Hidden)
		}
	}
}

// remove removes an entry of d, except what is too deep.
func (r *Remover[E]) remove(d Dir[E], e E, depth int) error {
	switch {
	case !e.IsDir():
		return r.removed(d.Unlink(e))
	case depth >= MaxDepth:
		lifted, err := d.Lift(e)
		if err == nil {
			r.lifted = append(r.lifted, lifted)
		}
		return r.removed(err)
	}
	sub, err := d.Enter(e)
	if err == nil {
		err = r.empty(sub, depth+1, func(E) bool { return true })
		sub.Close()
	}
	if err == nil {
		err = d.Rmdir(e)
	}
	return r.removed(err)
}

// removed counts an entry as removed unless err says otherwise. That it is missing is a success.
func (r *Remover[E]) removed(err error) error {
	if err == nil {
		r.gone++
	}
	return UnlessMissing(err)
}

// empty removes the wanted entries of d, until a listing from the start finds nothing to remove. An
// entry that is listed but missing does not count, as it would for ever.
func (r *Remover[E]) empty(d Dir[E], depth int, wanted func(E) bool) error {
	for token, before := "", r.gone; ; {
		page, next, err := d.Entries(token, WalkPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if wanted(e) {
				if err := r.remove(d, e, depth); err != nil {
					return err
				}
			}
		}
		if token = next; next == "" {
			if r.gone == before {
				return nil
			}
			before = r.gone
		}
	}
}

// UnlessMissing turns the error of a missing entry into nil: for a removal that is success.
func UnlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}
