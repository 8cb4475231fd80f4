package hdfsfs

import (
	"context"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// xattr returns an extended attribute of a path in HDFS, or "" if it is not set.
func (f *FS) xattr(ctx context.Context, at, name string) (string, error) {
	var values map[string]string
	err := f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
		if values, err = c.GetXAttrs(at, name); err == nil {
			return nil
		}
		// The library has no error for a missing attribute: the list of attributes distinguishes it
		// from a failure.
		names, failed := c.ListXAttrs(at)
		if _, has := names[name]; failed != nil || has {
			return err
		}
		return nil
	})
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist) {
		return "", err
	}
	// Otherwise it may not be read, or the cluster has no attributes.
	return values[name], nil
}

// setXattr sets an extended attribute where the cluster has them.
func (f *FS) setXattr(ctx context.Context, at, name, value string) error {
	err := f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.SetXAttr(at, name, value) })
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist, pfs.Permission) {
		return err
	}
	return nil
}
