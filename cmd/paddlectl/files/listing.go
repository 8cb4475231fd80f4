package files

import (
	"cmp"
	"context"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

// sortedUpTo is the number of entries up to which a listing is sorted by name by default. Larger
// listings are shown as they come, so that the first line of a million appears at once and memory
// stays bounded.
const sortedUpTo = 10_000

// listing is a directory being read.
type listing struct {
	a   *app.App
	fs  pfs.FileSystem
	dir pfs.Path

	// first are the entries read so far, sorted by name if complete.
	first   []pfs.Info
	whole   bool // first is all there is
	more    bool
	next    string // token of the page after first
	unnamed int    // entries that have no name in PFS, already reported
}

// list starts reading the directory dir; it reads all of it up to sortedUpTo entries.
func list(ctx context.Context, a *app.App, fsys pfs.FileSystem, dir pfs.Path) (*listing, error) {
	l := &listing{a: a, fs: fsys, dir: dir, more: true}
	for l.more && len(l.first) <= sortedUpTo {
		page, err := l.page(ctx)
		if err != nil {
			return nil, err
		}
		l.first = append(l.first, page...)
	}
	if l.whole = !l.more; l.whole {
		slices.SortFunc(l.first, app.ByName)
	}
	return l, nil
}

// page reads the next page.
func (l *listing) page(ctx context.Context) ([]pfs.Info, error) {
	page, err := l.fs.List(ctx, l.dir, pfs.ListOptions{Token: l.next})
	if err != nil {
		return nil, err
	}
	l.next, l.more = page.Next, page.Next != ""
	for _, quoted := range page.Unnamed {
		l.unnamed++
		l.a.Message("%s: entry %s cannot be named here: not UTF-8, or a reserved name", l.dir, quoted)
	}
	return page.Entries, nil
}

// each calls fn for every entry.
func (l *listing) each(ctx context.Context, fn func(pfs.Info) error) error {
	for entries := l.first; ; {
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		if !l.more {
			return nil
		}
		var err error
		if entries, err = l.page(ctx); err != nil {
			return err
		}
	}
}

func bySize(a, b pfs.Info) int { return cmp.Or(cmp.Compare(b.Size, a.Size), app.ByName(a, b)) }

func byTime(a, b pfs.Info) int { return cmp.Or(b.ModTime.Compare(a.ModTime), app.ByName(a, b)) }
