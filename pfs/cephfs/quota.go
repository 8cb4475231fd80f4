//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"strconv"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// The attributes that hold the store's own quota.
const (
	maxBytesName = "ceph.quota.max_bytes"
	maxFilesName = "ceph.quota.max_files"
)

// failIn is fail for an operation that may exceed a quota: it adds the limit to the error.
func (f FS) failIn(ctx context.Context, op string, name pfs.Path, err error) error {
	var full *noSpace
	met := func(q *pfs.OverQuota) bool { return q.Used >= q.Limit }
	switch {
	case errors.As(err, &full):
		met = func(q *pfs.OverQuota) bool {
			q.Need = full.want
			return !q.Files && full.want > q.Limit-q.Used
		}
	case !errors.Is(err, syscall.EDQUOT):
		return fail(op, name, err)
	}
	q, nearest := f.limitAbove(ctx, op, name, met)
	if q == nil && full == nil {
		q = nearest // the totals lag behind
	}
	if q == nil {
		return fail(op, name, err)
	}
	return pfs.E(op, name, pfs.Quota, q)
}

// limitAbove searches the directories above name, the nearest first. It returns the first limit for
// which met is true, and the nearest limit of bytes, or else of files; nil where there is none.
func (f FS) limitAbove(ctx context.Context, op string, name pfs.Path, met func(*pfs.OverQuota) bool) (q, nearest *pfs.OverQuota) {
	for name != pfs.Root {
		name = name.Parent()
		u, err := in(ctx, f, op, name, (*dir).kept)
		if err != nil {
			return nil, nearest
		}
		for _, q := range []*pfs.OverQuota{
			{Dir: name.Base(), Limit: u.MaxBytes, Used: u.Bytes, Staged: -1},
			{Dir: name.Base(), Limit: u.MaxFiles, Used: u.Files + u.Dirs, Staged: -1, Files: true},
		} {
			switch {
			case q.Limit == 0:
			case met(q):
				return q, nearest
			case nearest == nil || nearest.Files && !q.Files:
				nearest = q
			}
		}
	}
	return nil, nearest
}

// SetQuota limits the tree below the directory name by the store's own quota, which holds for every
// client. The store compares it with totals that lag by some seconds. So a little more than the
// quota may be written, and a write may be refused for a moment after a removal. Uploads count.
func (f FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "cephfs.SetQuota"
	if maxFiles > 0 {
		maxFiles++ // the directory itself
	}
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := changeIn(ctx, f, op, name, []pfs.Path{name}, func(d *dir) (struct{}, error) {
		return struct{}{}, d.durably(func() error {
			if err := d.setXattr(maxBytesName, strconv.AppendInt(nil, maxBytes, 10)); err != nil {
				return err
			}
			return d.setXattr(maxFilesName, strconv.AppendInt(nil, maxFiles, 10))
		})
	})
	return err
}
