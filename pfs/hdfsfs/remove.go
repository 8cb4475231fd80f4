package hdfsfs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
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
		return f.placeError(ctx, op, name, pfs.NotExist)
	}
	return f.placeError(ctx, op, name, err)
}

// deleteAt removes a path in HDFS and reports whether it existed.
//
// The library does not report to the second of two removals that it came too late; WebHDFS does.
// Without WebHDFS, deleteAt first renames the path, which succeeds only once.
func (f *FS) deleteAt(ctx context.Context, at string, tree bool) (there bool, err error) {
	if f.hasWeb() {
		var reply struct{ Boolean bool }
		call := webCall{method: http.MethodDelete, op: "DELETE", path: at, query: url.Values{"recursive": {strconv.FormatBool(tree)}}}
		err = f.web(ctx, call, &reply)
		if !is(err, pfs.Unsupported) {
			return reply.Boolean, err
		}
	}
	return f.deleteTaken(ctx, at, tree)
}

// deleteTaken is deleteAt without WebHDFS.
func (f *FS) deleteTaken(ctx context.Context, at string, tree bool) (there bool, err error) {
	st, err := f.statusAt(ctx, at)
	if is(err, pfs.NotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if tree || !st.IsDir() {
		taken := f.stage.temporary(tempRemoved)
		err = f.call(ctx, atMostOnce, func(c *hdfs.Client) error { return c.Rename(at, taken) })
		if is(err, pfs.NotExist) && f.stage.ensure(ctx) == nil {
			err = f.call(ctx, atMostOnce, func(c *hdfs.Client) error { return c.Rename(at, taken) })
		}
		if is(err, pfs.NotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		at = taken
	}
	err = f.call(ctx, idempotent, func(c *hdfs.Client) error {
		if tree {
			return c.RemoveAll(at)
		}
		return c.Remove(at)
	})
	if is(err, pfs.NotExist) {
		return false, nil
	}
	return err == nil, err
}
