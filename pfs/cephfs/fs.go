//go:build ceph

package cephfs

import (
	"context"
	"runtime"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// who is the user that calls are made as. It is freed when no operation has it any more.
type who struct {
	perms *cPerms
}

func newWho(owner Owner, groups []uint32) *who {
	w := &who{perms: newPerms(owner.UID, owner.GID, groups)}
	runtime.AddCleanup(w, freePerms, w.perms)
	return w
}

// FS is a tree of a CephFS, for one owner of what is made in it.
type FS struct {
	store *store
	who   *who
	owner *Owner // of what is made; nil if it is who's anyway
	top   string // path of the tree's root below the mount's, "" if it is that
}

var (
	_ Store                = (*FS)(nil)
	_ pfs.FileSystem       = (*FS)(nil)
	_ pfs.Symlinker        = (*FS)(nil)
	_ pfs.Chmoder          = (*FS)(nil)
	_ pfs.Chtimer          = (*FS)(nil)
	_ pfs.Editor           = (*FS)(nil)
	_ pfs.ExclusiveRenamer = (*FS)(nil)
	_ pfs.TreeRemover      = (*FS)(nil)
	_ pfs.SpaceReporter    = (*FS)(nil)
	_ pfs.UsageReporter    = (*FS)(nil)
	_ pfs.QuotaSetter      = (*FS)(nil)
	_ pfs.Copier           = (*FS)(nil)
	_ pfs.Digester         = (*FS)(nil)
	_ pfs.BatchWriter      = (*FS)(nil)
	_ pfs.Sweeper          = (*FS)(nil)
)

// For returns the same tree, in which whatever is made belongs to owner.
func (f *FS) For(owner Owner) pfs.FileSystem {
	return &FS{store: f.store, who: f.who, owner: &owner, top: f.top}
}

// As returns the same tree with every call made as owner.
func (f *FS) As(owner Owner, groups ...uint32) pfs.FileSystem {
	return &FS{store: f.store, who: newWho(owner, groups), top: f.top}
}

// Below returns the tree below the directory dir as one of its own, over the same mount.
func (f *FS) Below(dir pfs.Path) pfs.FileSystem {
	return &FS{store: f.store, who: f.who, owner: f.owner, top: strings.TrimPrefix(f.top+string(dir), "/")}
}

// Close ends the use of the store.
func (f *FS) Close() error { return f.store.close() }

// at begins an operation on name and calls do with the directory that holds it. Errors that are
// not yet of package pfs are about name.
func at[T any](ctx context.Context, f *FS, op string, name pfs.Path, do func(d *dir, base string) (T, error), drop func(T)) (T, error) {
	var none T
	if err := check(ctx, op, name); err != nil {
		return none, err
	}
	v, err := run(ctx, f, func(c *call) (T, error) {
		d, base, err := c.parent(name)
		if err != nil {
			return none, err
		}
		defer d.Close()
		return do(d, base)
	}, drop)
	return v, fail(op, name, err)
}

// change is at for an operation that changes something and returns nothing.
func (f *FS) change(ctx context.Context, op string, name pfs.Path, do func(d *dir, base string) error) error {
	if err := writable(op, name); err != nil {
		return err
	}
	_, err := at(ctx, f, op, name, func(d *dir, base string) (struct{}, error) {
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

// snapDir is the name under which every directory shows its snapshots. To make or remove a name in
// it would make or remove a snapshot.
const snapDir = ".snap"

// writable answers ReadOnly for a snapshot, and whatever is in one.
func writable(op string, name pfs.Path) error {
	for base := range name.Names() {
		if base == snapDir {
			return pfs.Errorf(op, name, pfs.ReadOnly, "%s shows snapshots, which do not change", snapDir)
		}
	}
	return nil
}

// in begins an operation on the directory name and calls do with it open.
func in[T any](ctx context.Context, f *FS, op string, name pfs.Path, do func(d *dir) (T, error)) (T, error) {
	var none T
	if err := check(ctx, op, name); err != nil {
		return none, err
	}
	v, err := run(ctx, f, func(c *call) (T, error) {
		d, err := c.directory(name)
		if err != nil {
			return none, err
		}
		defer d.Close()
		return do(d)
	}, nil)
	return v, fail(op, name, err)
}
