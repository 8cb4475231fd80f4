package transfer

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/pfs"
)

// entry is an entry of a directory, and what the other directory has of that name.
type entry struct {
	info   pfs.Info
	old    pfs.Info
	exists bool
}

// windows compares two directories, each in its own order, in bounded memory: it
// holds a window of the entries of a while b is listed from end to end, and then the
// next window. A directory that fits into one window has b listed once.
type windows struct {
	a       *listing
	b       *End                // nil if there is nothing to compare with
	names   *semaphore.Weighted // entries that all windows together may hold
	unnamed func(quoted string) // is told names of a that cannot be a Path

	entries []entry    // the window
	carry   []pfs.Info // a page that was too much for the window
}

// next makes the next window; it is empty at the end. Drop it before the next.
func (w *windows) next(ctx context.Context) ([]entry, error) {
	for {
		more, err := w.fill(ctx)
		if err != nil {
			return nil, err
		}
		if len(w.entries) > 0 {
			return w.entries, w.match(ctx)
		}
		if !more {
			return nil, nil
		}
	}
}

// drop gives up the window.
func (w *windows) drop() {
	w.names.Release(int64(len(w.entries)))
	w.entries = nil
}

// fill takes pages of a into the window as long as they may be held, but only one
// if there is nothing to compare them with. It reports whether there may be more.
func (w *windows) fill(ctx context.Context) (bool, error) {
	for {
		page, more, err := w.page(ctx)
		if err != nil || !more {
			return false, err
		}
		if !w.hold(ctx, int64(len(page))) {
			w.carry = page
			return true, pfs.CheckContext(ctx, "transfer.List", w.a.name)
		}
		for _, info := range page {
			w.entries = append(w.entries, entry{info: info})
		}
		if w.b == nil {
			return true, nil
		}
	}
}

// page returns the next page of a.
func (w *windows) page(ctx context.Context) ([]pfs.Info, bool, error) {
	if page := w.carry; page != nil {
		w.carry = nil
		return page, true, nil
	}
	page, more, err := w.a.next(ctx)
	for _, quoted := range page.Unnamed {
		w.unnamed(quoted)
	}
	return page.Entries, more, err
}

// hold asks for leave to hold n more entries. Only a window that is empty waits for
// it.
func (w *windows) hold(ctx context.Context, n int64) bool {
	if len(w.entries) > 0 {
		return w.names.TryAcquire(n)
	}
	return w.names.Acquire(ctx, n) == nil
}

// match looks for the entries of the window in b.
func (w *windows) match(ctx context.Context) error {
	if w.b == nil {
		return nil
	}
	places := make(map[string]int, len(w.entries))
	for i, e := range w.entries {
		places[e.info.Name] = i
	}
	b := listing{j: w.a.j, end: *w.b, name: w.b.Path}
	for {
		page, more, err := b.next(ctx)
		if err != nil || !more {
			return err
		}
		for _, info := range page.Entries {
			if i, ok := places[info.Name]; ok {
				w.entries[i].old, w.entries[i].exists = info, true
			}
		}
	}
}

// bigSet is the number of names from which on only one set of names is held at a
// time.
const bigSet = 64 << 10

// extras calls extra for every entry that the directory b has and a has not. Memory
// is 16 bytes for each name in a.
func (j *Job) extras(ctx context.Context, a, b End, extra func(pfs.Info) error) error {
	var has names
	big := false
	in := listing{j: j, end: a, name: a.Path}
	for {
		page, more, err := in.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if len(page.Unnamed) > 0 {
			return pfs.E("transfer.List", a.Path, pfs.Invalid, &NameError{Dir: a.Path, Quoted: page.Unnamed[0]})
		}
		for _, info := range page.Entries {
			has.add(info.Name)
		}
		if !big && len(has.hashes) > bigSet {
			big = true
			j.big.Lock()
			defer j.big.Unlock()
		}
	}
	over := listing{j: j, end: b, name: b.Path}
	for {
		page, more, err := over.next(ctx)
		if err != nil || !more {
			return err
		}
		for _, info := range page.Entries {
			if has.has(info.Name) {
				continue
			}
			if err := extra(info); err != nil {
				return err
			}
		}
	}
}
