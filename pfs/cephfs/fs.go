//go:build ceph

package cephfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// FS is a tree of a CephFS, for one owner of what is made in it. FS of the same store and owner are
// equal (==).
type FS struct {
	store *store
	as    ids // the user that calls are made as
	owner ids // the owner of what is made
}

var (
	_ Store                = FS{}
	_ pfs.FileSystem       = FS{}
	_ pfs.Symlinker        = FS{}
	_ pfs.Chmoder          = FS{}
	_ pfs.Chtimer          = FS{}
	_ pfs.Editor           = FS{}
	_ pfs.ExclusiveRenamer = FS{}
	_ pfs.TreeRemover      = FS{}
	_ pfs.SpaceReporter    = FS{}
	_ pfs.UsageReporter    = FS{}
	_ pfs.QuotaSetter      = FS{}
	_ pfs.Copier           = FS{}
	_ pfs.Digester         = FS{}
	_ pfs.BatchWriter      = FS{}
	_ pfs.Sweeper          = FS{}
	_ pfs.OwnershipGiver   = FS{}
	_ pfs.Impersonator     = FS{}
)

// For returns the same tree, in which whatever is made belongs to owner.
func (f FS) For(owner pfs.Owner) (pfs.FileSystem, error) {
	var err error
	f.owner, err = idsOf("cephfs.For", owner)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// As returns the same tree with every call made as owner.
func (f FS) As(owner pfs.Owner) (pfs.FileSystem, error) {
	id, err := idsOf("cephfs.As", owner)
	if err != nil {
		return nil, err
	}
	f.as, f.owner = id, id
	return f, nil
}

// given is the owner that new files must be given to, nil if they are made as their owner.
func (f FS) given() *ids {
	if f.owner == f.as {
		return nil
	}
	return &f.owner
}

// Close ends the use of the store.
func (f FS) Close() error { return f.store.close() }

// at begins an operation on name and calls do with the directory that holds it. Errors that are
// not yet of package pfs are about name.
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
	return v, fail(op, name, err)
}

// change is at for an operation that changes name, and perhaps others, and returns nothing.
func (f FS) change(ctx context.Context, op string, name pfs.Path, do func(d *dir, base string) error, others ...pfs.Path) error {
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := changeAt(ctx, f, op, name, append(others, name), func(d *dir, base string) (struct{}, error) {
		return struct{}{}, do(d, base)
	}, nil)
	return err
}

// check is how every operation begins.
func check(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// snapDir is the name under which every directory shows its snapshots. Making or removing a name in it would make
// or remove a snapshot.
const snapDir = ".snap"

// writable answers ReadOnly for a snapshot and everything in one.
func writable(op string, name pfs.Path) error {
	for base := range name.Names() {
		if base == snapDir {
			return pfs.Errorf(op, name, pfs.ReadOnly, "%s shows snapshots, which do not change", snapDir)
		}
	}
	return nil
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
