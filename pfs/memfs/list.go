package memfs

import (
	"cmp"
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// List returns a page of the entries of dir, oldest name first.
func (s *FS) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	const op = "memfs.List"
	err = s.on(ctx, s.mu.RLocker(), op, dir, (*FS).findDir, 0, read, func(n *node) error {
		last, err := strconv.ParseUint(cmp.Or(opts.Token, "0"), 36, 64)
		if err != nil {
			return pfs.Errorf(op, dir, pfs.Conflict, "the page token is not one of this listing: list from the start")
		}
		page = s.page(n.dir, last, opts.Max())
		return nil
	})
	return page, err
}

// page returns up to limit entries whose seq is greater than last.
func (s *FS) page(d *directory, last uint64, limit int) pfs.Page {
	var page pfs.Page
	for _, e := range d.after(last) {
		if e.node == nil || s.hides(e.node) {
			continue
		}
		if len(page.Entries) == limit {
			page.Next = strconv.FormatUint(last, 36)
			break
		}
		page.Entries = append(page.Entries, e.node.info(e.name))
		last = e.seq
	}
	return page
}
