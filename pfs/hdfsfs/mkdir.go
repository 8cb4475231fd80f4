package hdfsfs

import (
	"context"
	"io/fs"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes the directory name.
func (f *FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "hdfsfs.Mkdir"
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	err := f.call(ctx, often, func(c *hdfs.Client) error { return c.Mkdir(f.at(name), mode.Perm()) })
	if err == nil {
		return fail(op, name, f.handOver(ctx, f.at(name)))
	}
	if is(err, pfs.Exist) {
		if st, err := f.status(ctx, name); err != nil || st.IsDir() {
			return fail(op, name, err)
		}
	}
	return f.placeError(ctx, op, name, err)
}

// handOver gives what is at a path in HDFS to the user it was made for, where that is
// not whom calls are made as.
func (f *FS) handOver(ctx context.Context, at string) error {
	if f.owner == "" {
		return nil
	}
	st, err := f.statusAt(ctx, at)
	if err != nil {
		return err
	}
	return f.call(ctx, often, func(c *hdfs.Client) error { return c.Chown(at, f.owner, st.Group) })
}

// placeError makes the error of an operation that could not put anything at name. The
// NameNode says that something is not there, or not a directory, without saying
// whether it is the parent.
func (f *FS) placeError(ctx context.Context, op string, name pfs.Path, err error) error {
	if !is(err, pfs.NotExist, pfs.NotDir, pfs.Exist, pfs.Permission, pfs.Other) || name == pfs.Root {
		return fail(op, name, err)
	}
	st, statErr := f.status(ctx, name.Parent())
	switch {
	case is(statErr, pfs.NotExist, pfs.NotDir):
		return f.placeError(ctx, op, name.Parent(), statErr)
	case statErr == nil && st.IsLink():
		return pfs.E(op, name.Parent(), pfs.Symlink, nil)
	case statErr == nil && !st.IsDir():
		return pfs.E(op, name.Parent(), pfs.NotDir, nil)
	}
	return fail(op, name, err)
}
