package hdfsfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
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
	return f.mkdirError(ctx, op, name, f.keepDir(ctx, f.at(name), uint32(mode.Perm())))
}

// mkdirError returns the error of a failed mkdir; nil if the directory exists.
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
	stage, err := f.stageFor(ctx, name.Parent(), parent)
	if err != nil {
		return fail(op, name, err)
	}
	at := stage.temporary(tempDir)
	err = stage.within(ctx, func() error { return f.keepDir(ctx, at, uint32(mode.Perm())) })
	if err == nil {
		err = f.chown(ctx, at, f.owner, parent.Group)
	}
	if err == nil {
		if err = f.move(ctx, at, f.at(name), true); err == nil {
			return nil
		}
	}
	f.discardTemporary(context.WithoutCancel(ctx), at)
	return f.mkdirError(ctx, op, name, err)
}

// keepDir creates a directory at a path in HDFS. A directory that exists stays as it is.
func (f *FS) keepDir(ctx context.Context, at string, bits uint32) error {
	request := &hdfsproto.MkdirsRequest{Path: &at, Permission: &hdfsproto.FilePermission{Bits: &bits}, Parents: proto.Bool(false)}
	return f.tell(ctx, "mkdirs", request, rpc.Idempotent)
}

// makeDir is keepDir that returns Exist if the name is taken.
func (f *FS) makeDir(ctx context.Context, at string, bits uint32) error {
	_, err := f.statusAt(ctx, at)
	switch {
	case err == nil:
		return pfs.Exist
	case !is(err, pfs.NotExist):
		return err
	}
	return f.keepDir(ctx, at, bits)
}
