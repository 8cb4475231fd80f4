//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"strconv"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// exactEntries is the largest tree, in entries, that Usage walks.
const exactEntries = 4096

// Usage counts the tree below name. A large tree costs one request, whatever its size: the MDS
// keeps totals for every directory. They lag by some seconds for each level between, and include
// uploads. A small tree is walked, so that its totals are exact.
func (f FS) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
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

// usage counts the tree of the directory itself.
func (d *dir) usage() (pfs.Usage, error) {
	u, err := d.kept()
	if err != nil || u.Files+u.Dirs > exactEntries {
		return u, err
	}
	exact := pfs.Usage{MaxBytes: u.MaxBytes, MaxFiles: u.MaxFiles}
	err = d.count(&exact)
	if errors.Is(err, errManyEntries) {
		return u, nil
	}
	return exact, err
}

// kept returns the totals of the MDS. A directory counts itself, in totals and in quotas.
func (d *dir) kept() (u pfs.Usage, err error) {
	for _, v := range []struct {
		name string
		into *int64
	}{
		{"ceph.dir.rbytes", &u.Bytes},
		{"ceph.dir.rfiles", &u.Files},
		{"ceph.dir.rsubdirs", &u.Dirs},
		{maxBytesName, &u.MaxBytes},
		{maxFilesName, &u.MaxFiles},
	} {
		if *v.into, err = d.number(v.name); err != nil {
			return pfs.Usage{}, err
		}
	}
	u.Dirs = max(0, u.Dirs-1)
	if u.MaxFiles > 0 {
		u.MaxFiles--
	}
	return u, nil
}

// errManyEntries ends a walk that has become too long.
var errManyEntries = errors.New("too many entries to walk")

// count walks the tree and adds the entries of users to u.
func (d *dir) count(u *pfs.Usage) error {
	seen := 0
	return d.walk(func(_ *dir, e entry) (bool, error) {
		if seen++; seen > exactEntries {
			return false, errManyEntries
		}
		switch {
		case pfs.IsTemp(e.name, e.st.mode):
			return false, nil
		case e.st.mode.IsDir():
			u.Dirs++
		default:
			u.Files++
			u.Bytes += e.st.size
		}
		return true, nil
	}, 0)
}

// number reads a numeric attribute; one that is not set is 0.
func (d *dir) number(name string) (int64, error) {
	p, err := d.xattr(name)
	if errors.Is(err, syscall.ENODATA) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return 0, pfs.Errorf("cephfs.Usage", "", pfs.Integrity, "attribute %s is %q, not a number", name, p)
	}
	return n, nil
}
