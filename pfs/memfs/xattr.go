package memfs

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// maxXattr is the length in bytes of the longest extended attribute.
const maxXattr = 64 << 10

// onXattr calls do with the file or directory name, if the user has the access a to it.
func (s *FS) onXattr(ctx context.Context, op string, name pfs.Path, a access, do func(n *node) error) error {
	return s.on(ctx, &s.mu, op, name, (*FS).findNoLink, pfs.CanXattr, a, do)
}

// Xattr returns the value of the extended attribute attr.
func (s *FS) Xattr(ctx context.Context, name pfs.Path, attr string) (value []byte, err error) {
	const op = "memfs.Xattr"
	err = s.onXattr(ctx, op, name, read, func(n *node) error {
		v, ok := n.xattrs[attr]
		if err := checkXattr(op, name, attr, ok); err != nil {
			return err
		}
		value = bytes.Clone(v)
		return nil
	})
	return value, err
}

// checkXattr answers NoAttr unless there is such an attribute.
func checkXattr(op string, name pfs.Path, attr string, there bool) error {
	if err := pfs.CheckXattr(op, name, attr); err != nil || there {
		return err
	}
	return pfs.E(op, name, pfs.NoAttr, nil)
}

// SetXattr sets the extended attribute attr.
func (s *FS) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	const op = "memfs.SetXattr"
	return s.onXattr(ctx, op, name, change, func(n *node) error {
		_, there := n.xattrs[attr]
		if err := checkXattr(op, name, attr, there || flags&pfs.XattrReplace == 0); err != nil {
			return err
		}
		switch {
		case there && flags&pfs.XattrCreate != 0:
			return pfs.E(op, name, pfs.Exist, nil)
		case len(value) > maxXattr:
			return pfs.Errorf(op, name, pfs.NoSpace, "an extended attribute of %d bytes: it can have %d", len(value), maxXattr)
		case n.xattrs == nil:
			n.xattrs = map[string][]byte{}
		}
		n.xattrs[attr] = append([]byte{}, value...)
		n.ctime = now()
		return nil
	})
}

// ListXattr returns the names of all extended attributes, sorted.
func (s *FS) ListXattr(ctx context.Context, name pfs.Path) (attrs []string, err error) {
	err = s.onXattr(ctx, "memfs.ListXattr", name, 0, func(n *node) error {
		attrs = slices.Sorted(maps.Keys(n.xattrs))
		return nil
	})
	return attrs, err
}

// RemoveXattr removes the extended attribute attr.
func (s *FS) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	const op = "memfs.RemoveXattr"
	return s.onXattr(ctx, op, name, change, func(n *node) error {
		_, there := n.xattrs[attr]
		if err := checkXattr(op, name, attr, there); err != nil {
			return err
		}
		delete(n.xattrs, attr)
		n.ctime = now()
		return nil
	})
}
