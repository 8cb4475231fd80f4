//go:build ceph

package cephfs

import (
	"context"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// Stat describes name.
func (f FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	return at(ctx, f, "cephfs.Stat", name, func(d *dir, base string) (info pfs.Info, err error) {
		err = d.on(base, func(in *cInode, st stat) error {
			info = st.info(name)
			if st.mode.IsRegular() {
				// A handle without an open file is enough for a mark.
				if m, ok := newHandle(d.c.m, in).mark(d.c, st); ok {
					info.Digest = m.Digest
				}
			}
			return nil
		})
		if err == nil && info.IsLink() {
			info.Target, err = d.readlink(base)
		}
		return info, err
	}, nil)
}

// List returns one page of dir in the store's order. Digests are left out.
func (f FS) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "cephfs.List"
	limit := opts.Limit
	if limit <= 0 || limit > pfs.MaxPage {
		limit = pfs.MaxPage
	}
	return in(ctx, f, op, name, func(d *dir) (page pfs.Page, err error) {
		found, next, err := d.entries(opts.Token, limit)
		if err != nil {
			return pfs.Page{}, err
		}
		page.Next = next
		for _, e := range found {
			if err := d.addEntry(&page, name, e); err != nil {
				return pfs.Page{}, fail(op, name.Join(e.name), err)
			}
		}
		return page, nil
	})
}

// addEntry describes one entry, unless it is hidden or has gone meanwhile.
func (d *dir) addEntry(page *pfs.Page, parent pfs.Path, e entry) error {
	if isHidden(e.name) {
		return nil
	}
	if pfs.CheckName(e.name) != "" {
		page.Unnamed = append(page.Unnamed, strconv.Quote(e.name))
		return nil
	}
	info := e.st.info(parent.Join(e.name))
	if e.st.mode&fs.ModeSymlink != 0 {
		var err error
		if info.Target, err = d.readlink(e.name); err != nil {
			return unlessMissing(err)
		}
	}
	page.Entries = append(page.Entries, info)
	return nil
}
