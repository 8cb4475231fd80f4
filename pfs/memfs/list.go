package memfs

import (
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// List returns a page of the entries of dir, oldest name first.
func (s *FS) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "memfs.List"
	if err := begin(ctx, op, dir); err != nil {
		return pfs.Page{}, err
	}
	var last uint64
	if opts.Token != "" {
		var err error
		if last, err = strconv.ParseUint(opts.Token, 36, 64); err != nil {
			return pfs.Page{}, pfs.Errorf(op, dir, pfs.Conflict, "the page token is not one of this listing: list from the start")
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.findDir(op, dir)
	if err == nil {
		err = s.may(op, dir, n, read)
	}
	if err != nil {
		return pfs.Page{}, err
	}
	return s.page(n.dir, last, opts.Max()), nil
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
