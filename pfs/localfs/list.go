package localfs

import (
	"context"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// List returns one page of dir in the directory's own order.
func (f *FS) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	const op = "localfs.List"
	err = f.in(ctx, op, name, func(d dir) error {
		names, next, err := entriesInTurn(ctx, d, opts.Token, opts.Max())
		if err != nil {
			return err
		}
		page.Next = next
		page.Entries = slices.Grow(page.Entries, len(names))
		var mark []byte
		if opts.Digests {
			mark = make([]byte, digest.MaxMark)
		}
		return eachInTurn(ctx, names, func(entry string) error { return f.addEntry(&page, d, name, entry, mark) })
	})
	if err != nil {
		return pfs.Page{}, err
	}
	return page, nil
}

// entriesInTurn returns the next names of d.
func entriesInTurn(ctx context.Context, d dir, token string, limit int) (names []string, next string, err error) {
	err = pfs.InTurn(ctx, func() (err error) {
		names, next, err = d.entries(token, limit)
		return err
	})
	return names, next, err
}

// eachInTurn calls do for each name of a directory, a few names per turn.
func eachInTurn(ctx context.Context, names []string, do func(name string) error) error {
	const step = 64
	for some := range slices.Chunk(names, step) {
		err := pfs.InTurn(ctx, func() error {
			for _, name := range some {
				if err := do(name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addEntry adds one entry to the page, unless it is hidden or was removed meanwhile. mark is memory for its stored digest; nil if that is
// not asked for.
func (f *FS) addEntry(page *pfs.Page, d dir, parent pfs.Path, entry string, mark []byte) error {
	st, err := d.stat(entry, false)
	if err == nil && hidden(entry, st) {
		return nil
	}
	if err == nil && pfs.CheckName(entry) != "" {
		page.Unnamed = append(page.Unnamed, strconv.Quote(entry))
		return nil
	}
	var info pfs.Info
	if err == nil {
		info, err = f.entryInfo(d, entry, parent.Join(entry), st)
	}
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail("localfs.List", parent.Join(entry), err)
	}
	if mark != nil {
		if m, ok := f.markOf(d, entry, st, mark); ok {
			info.Digest = m.Digest
		}
	}
	page.Entries = append(page.Entries, info)
	return nil
}

// hidden reports whether an entry is one of the store's own.
func hidden(name string, st stat) bool {
	return pfs.IsTemp(name, st.mode) || name == quotaName && st.mode.IsRegular()
}

// isStaged reports whether an entry is an upload.
func isStaged(name string, st stat) bool { return st.mode.IsRegular() && pfs.IsTemp(name, st.mode) }
