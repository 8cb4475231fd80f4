//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"strconv"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// Usage sums the tree below name, from the sums that the MDS keeps for every directory: one
// question, whatever the size of the tree.
func (f *FS) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	const op = "cephfs.Usage"
	return at(ctx, f, op, name, func(d *dir, base string) (pfs.Usage, error) {
		st, err := d.stat(base)
		if err != nil {
			return pfs.Usage{}, err
		}
		if !st.mode.IsDir() {
			return pfs.Usage{Bytes: st.size, Files: 1}, nil
		}
		sub, err := d.element(base)
		if err != nil {
			return pfs.Usage{}, err
		}
		defer sub.Close()
		return sub.usage()
	}, nil)
}

// usage reads the sums of the directory. It counts among its own directories.
func (d *dir) usage() (u pfs.Usage, err error) {
	for _, v := range []struct {
		name string
		into *int64
	}{
		{"ceph.dir.rbytes", &u.Bytes},
		{"ceph.dir.rfiles", &u.Files},
		{"ceph.dir.rsubdirs", &u.Dirs},
		{"ceph.quota.max_bytes", &u.MaxBytes},
		{"ceph.quota.max_files", &u.MaxFiles},
	} {
		if *v.into, err = d.number(v.name); err != nil {
			return pfs.Usage{}, err
		}
	}
	u.Dirs--
	return u, nil
}

// number reads an attribute that is a number; one that is not set is 0.
func (d *dir) number(name string) (int64, error) {
	p, err := d.attribute(name)
	if errors.Is(err, syscall.ENODATA) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return 0, pfs.Errorf("cephfs.Usage", "", pfs.Integrity, "attribute %s is %q, no number", name, p)
	}
	return n, nil
}

// SetQuota limits the tree below the directory name by the store's own quota.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "cephfs.SetQuota"
	if maxBytes < 0 || maxFiles < 0 {
		return pfs.Errorf(op, name, pfs.Invalid, "a quota of %d bytes and %d files: 0 lifts a limit, less there is not", maxBytes, maxFiles)
	}
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := in(ctx, f, op, name, func(d *dir) (struct{}, error) {
		err := d.setAttribute("ceph.quota.max_bytes", strconv.AppendInt(nil, maxBytes, 10))
		if err == nil {
			err = d.setAttribute("ceph.quota.max_files", strconv.AppendInt(nil, maxFiles, 10))
		}
		return struct{}{}, err
	})
	return err
}
