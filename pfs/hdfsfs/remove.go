package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// Remove removes the file or empty directory name.
func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.remove(ctx, "hdfsfs.Remove", name, false)
}

// RemoveTree removes name and all below it, at once. The NameNode frees the blocks
// after it has answered.
func (f *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	return f.remove(ctx, "hdfsfs.RemoveTree", name, true)
}

func (f *FS) remove(ctx context.Context, op string, name pfs.Path, tree bool) error {
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return pfs.Errorf(op, name, pfs.Invalid, "the root cannot be removed")
	}
	there, err := f.deleteAt(ctx, f.at(name), tree)
	if err == nil && !there {
		err = pfs.NotExist
	}
	return f.placeError(ctx, op, name, err)
}

// deleteAt removes a path in HDFS, if tree is set with all below it, and reports whether it existed.
func (f *FS) deleteAt(ctx context.Context, at string, tree bool) (there bool, err error) {
	var answer hdfsproto.BoolResponse
	err = f.ask(ctx, "delete", &hdfsproto.DeleteRequest{Path: &at, Recursive: &tree}, &answer, rpc.Cached)
	return answer.GetResult(), err
}

// removeAll removes a path in HDFS with all below it, if it exists.
func (f *FS) removeAll(ctx context.Context, at string) error {
	_, err := f.deleteAt(ctx, at, true)
	return err
}
