//go:build ceph

package cephfs

import (
	"context"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// List returns one page of dir in the store's order.
func (f FS) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "cephfs.List"
	return in(ctx, f, op, name, func(d *dir) (page pfs.Page, err error) {
		found, next, err := d.entries(opts.Token, opts.Max())
		if err != nil {
			return pfs.Page{}, err
		}
		page.Next = next
		for _, e := range found {
			if err := d.addEntry(&page, name, e, opts.Digests); err != nil {
				return pfs.Page{}, fail(op, name.Join(e.name), err)
			}
		}
		return page, nil
	})
}

// addEntry adds one entry to the page, unless it is hidden or was removed meanwhile.
func (d *dir) addEntry(page *pfs.Page, parent pfs.Path, e entry, digests bool) error {
	if pfs.IsTemp(e.name, e.st.mode) {
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
			return posix.UnlessMissing(err)
		}
	}
	if digests && e.st.mode.IsRegular() {
		err := d.on(e.name, func(in *cInode, _ stat) error {
			info.Digest = keptDigest(d.c, in, e.st)
			return nil
		})
		if err != nil {
			return posix.UnlessMissing(err)
		}
	}
	page.Entries = append(page.Entries, info)
	return nil
}
