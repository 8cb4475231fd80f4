package hdfsfs

import (
	"context"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// readMark returns the mark of the file at a path in HDFS, which st describes, if it
// has one that is true.
func (f *FS) readMark(ctx context.Context, at string, st status) (m digest.Mark, ok bool, err error) {
	value, err := f.attribute(ctx, at, digest.MarkAttribute)
	if err != nil {
		return digest.Mark{}, false, err
	}
	m, ok = digest.DecodeMark([]byte(value))
	return m, ok && m.Of(st.Size, st.ModTime), nil
}

// attribute returns an extended attribute of a path in HDFS; "" if it has none.
func (f *FS) attribute(ctx context.Context, at, name string) (string, error) {
	var values map[string]string
	err := f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
		if values, err = c.GetXAttrs(at, name); err == nil {
			return nil
		}
		// The library has no name for "it has no such attribute": the list of those
		// that it has tells that from a failure.
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

// setMark keeps m with the file at a path in HDFS. Without it, the file is only less
// well known.
func (f *FS) setMark(ctx context.Context, at string, m digest.Mark) error {
	return f.setAttribute(ctx, at, digest.MarkAttribute, string(m.Encode()))
}

// setAttribute sets an extended attribute where the cluster has them.
func (f *FS) setAttribute(ctx context.Context, at, name, value string) error {
	err := f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.SetXAttr(at, name, value) })
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist, pfs.Permission) {
		return err
	}
	return nil
}
