package hdfsfs

import (
	"context"
	"fmt"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// markName is the extended attribute that holds the mark of a file.
const markName = "user.pfs.digest"

// mark is what is kept about the content of a file. It is true while the file has
// this size and time.
type mark struct {
	size, mtime int64  // mtime in milliseconds
	id          string // of the staged write that the file was; "-" if not known
	digest      string // "-" if not known
}

const unknown = "-"

func (m mark) encode() string { return fmt.Sprintf("1 %d %d %s %s", m.size, m.mtime, m.id, m.digest) }

// decodeMark reads what encode wrote. Anything else is no mark.
func decodeMark(s string) (m mark, ok bool) {
	n, err := fmt.Sscanf(s, "1 %d %d %s %s", &m.size, &m.mtime, &m.id, &m.digest)
	if n != 4 || err != nil || m.encode() != s {
		return mark{}, false
	}
	if m.digest == unknown {
		m.digest = ""
	}
	if m.id == unknown {
		m.id = ""
	}
	return m, true
}

// newMark returns the mark of a file that has these properties from now on.
func newMark(id string, opts pfs.CommitOptions, mtime int64) mark {
	m := mark{size: opts.Size, mtime: mtime, id: id, digest: opts.Digest}
	if m.id == "" {
		m.id = unknown
	}
	const most = 200
	if !digest.Known(digest.Algorithm(m.digest)) || len(m.digest) > most {
		m.digest = unknown
	}
	return m
}

// readMark returns the mark of the file at a path in HDFS, which st describes, if it
// has one that is true.
func (f *FS) readMark(ctx context.Context, at string, st status) (m mark, ok bool, err error) {
	value, err := f.attribute(ctx, at, markName)
	if err != nil {
		return mark{}, false, err
	}
	m, ok = decodeMark(value)
	return m, ok && m.size == st.Size && m.mtime == st.ModTime.UnixMilli(), nil
}

// attribute returns an extended attribute of a path in HDFS; "" if it has none.
func (f *FS) attribute(ctx context.Context, at, name string) (string, error) {
	var values map[string]string
	err := f.call(ctx, often, func(c *hdfs.Client) (err error) {
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
func (f *FS) setMark(ctx context.Context, at string, m mark) error {
	return f.setAttribute(ctx, at, markName, m.encode())
}

// setAttribute sets an extended attribute where the cluster has them.
func (f *FS) setAttribute(ctx context.Context, at, name, value string) error {
	err := f.call(ctx, often, func(c *hdfs.Client) error { return c.SetXAttr(at, name, value) })
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist, pfs.Permission) {
		return err
	}
	return nil
}
