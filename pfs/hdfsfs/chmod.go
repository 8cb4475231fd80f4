package hdfsfs

import (
	"context"
	"io/fs"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Chmod sets the permission bits of name. A directory keeps its sticky bit.
func (f *FS) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "hdfsfs.Chmod"
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	st, err := f.status(ctx, name)
	if err == nil {
		bits := uint32(mode.Perm()) | st.sticky
		err = f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.Chmod(f.at(name), rawMode(bits)) })
	}
	return f.placeError(ctx, op, name, err)
}

// Chtime sets the modification time of name, to the millisecond. HDFS has no time before
// 1970: an earlier one becomes the first moment of that year.
func (f *FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	const op = "hdfsfs.Chtime"
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	st, err := f.status(ctx, name)
	if err != nil {
		return f.placeError(ctx, op, name, err)
	}
	var m digest.Mark
	marked := false
	if st.IsRegular() {
		if m, marked, err = f.readMark(ctx, f.at(name), st); err != nil {
			return fail(op, name, err)
		}
	}
	set, err := f.setTime(ctx, f.at(name), mtime)
	if err == nil && marked {
		m.ModTime = set
		err = f.setMark(ctx, f.at(name), m)
	}
	return fail(op, name, err)
}
