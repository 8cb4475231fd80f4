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
	if f.owner != "" {
		return f.mkdirGiven(ctx, op, name, mode)
	}
	err := f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.Mkdir(f.at(name), mode.Perm()) })
	return f.mkdirError(ctx, op, name, err)
}

// mkdirError makes the error of a directory that could not be made; none if there is one.
func (f *FS) mkdirError(ctx context.Context, op string, name pfs.Path, err error) error {
	if is(err, pfs.Exist) {
		if st, err := f.status(ctx, name); err != nil || st.IsDir() {
			return fail(op, name, err)
		}
	}
	if err == nil {
		return nil
	}
	return f.placeError(ctx, op, name, err)
}

// mkdirGiven creates a directory beside the uploads, changes its owner and renames it to name.
// Without WebHDFS the rename may replace an empty directory that appeared meanwhile.
func (f *FS) mkdirGiven(ctx context.Context, op string, name pfs.Path, mode fs.FileMode) error {
	_, err := f.status(ctx, name)
	switch {
	case err == nil:
		return f.mkdirError(ctx, op, name, pfs.Exist)
	case !is(err, pfs.NotExist):
		return f.placeError(ctx, op, name, err)
	}
	parent, err := f.parentOf(ctx, op, name)
	if err != nil {
		return err
	}
	at := f.stage.temporary(tempDir)
	err = f.stage.within(ctx, func() error {
		return f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.Mkdir(at, mode.Perm()) })
	})
	if err == nil {
		err = f.chown(ctx, at, f.owner, parent.Group)
	}
	if err == nil {
		if err = f.move(ctx, at, f.at(name), f.hasWeb()); err == nil {
			return nil
		}
	}
	f.discardTemporary(context.WithoutCancel(ctx), at)
	return f.mkdirError(ctx, op, name, err)
}
