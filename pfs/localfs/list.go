package localfs

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// List returns a page of dir in the directory's own order. A page costs the entries
// that it holds, wherever in the directory it lies.
func (s *FS) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "localfs.List"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Page{}, err
	}
	d, err := s.openDir(op, name)
	if err != nil {
		return pfs.Page{}, err
	}
	defer d.Close()
	limit := opts.Limit
	if limit <= 0 || limit > pfs.MaxPage {
		limit = pfs.MaxPage
	}
	var names []string
	var page pfs.Page
	next, err := d.names(opts.Token, func(entry string) bool {
		switch {
		case strings.HasPrefix(entry, pfs.TempPrefix):
		case pfs.CheckName(entry) != "":
			page.Unnamed = append(page.Unnamed, strconv.Quote(entry))
		default:
			names = append(names, entry)
		}
		return len(names)+len(page.Unnamed) < limit
	})
	if err != nil {
		return pfs.Page{}, fail(op, name, err)
	}
	page.Next = next
	page.Entries = make([]pfs.Info, 0, len(names))
	for _, entry := range names {
		st, err := d.stat(entry)
		if errors.Is(fail(op, name, err), pfs.NotExist) {
			continue // removed since
		}
		if err != nil {
			return pfs.Page{}, fail(op, name.Join(entry), err)
		}
		page.Entries = append(page.Entries, st.info)
	}
	return page, nil
}
