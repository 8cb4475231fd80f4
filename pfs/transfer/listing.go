package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// pageLen is how many entries are listed at once.
const pageLen = 1024

// maxRestarts is how often a listing starts again because the store no longer knows
// its token.
const maxRestarts = 8

// listing reads a directory page by page. Hours may pass between two pages while the
// entries of the first are copied. If the store no longer knows the token, the
// directory is listed from the start, and entries that were returned before are skipped.
type listing struct {
	j    *Job
	end  End
	name pfs.Path // as the user knows it

	digests bool // ask for the digests that are kept

	token    string
	started  bool
	restarts int
	seen     names // in all pages before, if there is more than one
	again    bool  // entries may have been seen
}

// next returns the next entries, none at the end. A page before the end may be empty; more is false
// only at the end.
func (l *listing) next(ctx context.Context) (page pfs.Page, more bool, err error) {
	if l.started && l.token == "" {
		return page, false, nil
	}
	page, err = l.page(ctx)
	if errors.Is(err, pfs.Conflict) && l.token != "" && l.restarts < maxRestarts {
		l.restarts++
		l.token, l.again = "", true
		page, err = l.page(ctx)
	}
	if err != nil {
		return pfs.Page{}, false, err
	}
	l.started, l.token = true, page.Next
	if l.again {
		page.Entries = l.fresh(page.Entries)
	}
	if page.Next != "" {
		for _, e := range page.Entries {
			l.seen.add(e.Name)
		}
	}
	return page, true, nil
}

func (l *listing) page(ctx context.Context) (page pfs.Page, err error) {
	err = l.j.retry(ctx, l.name, func(ctx context.Context) error {
		page, err = l.end.FS.List(ctx, l.end.Path, pfs.ListOptions{Token: l.token, Limit: pageLen, Digests: l.digests})
		return err
	})
	return page, err
}

// fresh returns the entries that were not seen before.
func (l *listing) fresh(entries []pfs.Info) []pfs.Info {
	kept := entries[:0]
	for _, e := range entries {
		if !l.seen.has(e.Name) {
			kept = append(kept, e)
		}
	}
	return kept
}
