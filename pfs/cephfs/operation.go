//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// The beginnings of the operations of a FileSystem: at and change for operations on one name in its
// directory, in for those on the content of a directory. All of them are calls (call.go).

// at begins an operation on name and calls do with the directory that holds it. Errors that are not
// yet of package pfs get name. For drop, see run.
func at[T any](ctx context.Context, f FS, op string, name pfs.Path, do func(d *dir, base string) (T, error), drop func(T)) (T, error) {
	return changeAt(ctx, f, op, name, nil, do, drop)
}

// changeAt is at for an operation that changes these names.
func changeAt[T any](ctx context.Context, f FS, op string, name pfs.Path, names []pfs.Path, do func(d *dir, base string) (T, error), drop func(T)) (T, error) {
	var none T
	if err := check(ctx, op, name); err != nil {
		return none, err
	}
	v, err := runChange(ctx, f, names, func(c *call) (T, error) {
		d, base, err := c.parent(name)
		if err != nil {
			return none, err
		}
		defer d.Close()
		return do(d, base)
	}, drop)
	return v, f.failIn(ctx, op, name, err)
}

// change is at for an operation that changes name, and perhaps others, and returns only an error.
func (f FS) change(ctx context.Context, op string, name pfs.Path, do func(d *dir, base string) error, others ...pfs.Path) error {
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := changeAt(ctx, f, op, name, append(others, name), func(d *dir, base string) (struct{}, error) {
		return struct{}{}, do(d, base)
	}, nil)
	return err
}

// check begins every operation.
func check(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// in begins an operation on the directory name and calls do with it open.
func in[T any](ctx context.Context, f FS, op string, name pfs.Path, do func(d *dir) (T, error)) (T, error) {
	return changeIn(ctx, f, op, name, nil, do)
}

// changeIn is in for an operation that changes these names.
func changeIn[T any](ctx context.Context, f FS, op string, name pfs.Path, names []pfs.Path, do func(d *dir) (T, error)) (T, error) {
	var none T
	if err := check(ctx, op, name); err != nil {
		return none, err
	}
	v, err := runChange(ctx, f, names, func(c *call) (T, error) {
		d, err := c.directory(name)
		if err != nil {
			return none, err
		}
		defer d.Close()
		return do(d)
	}, nil)
	return v, fail(op, name, err)
}
