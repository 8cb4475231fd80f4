//go:build ceph

package cephfs

import (
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// FS is a tree of a CephFS, for one owner of new files. FS of the same store and owner are equal
// (==).
type FS struct {
	store *store
	as    ids // the user of all calls
	owner ids // the owner of new files
}

var (
	_ rules.Store        = FS{}
	_ Store              = FS{}
	_ pfs.Symlinker      = FS{}
	_ pfs.HardLinker     = FS{}
	_ pfs.NodeMaker      = FS{}
	_ pfs.Copier         = FS{}
	_ pfs.OwnershipGiver = FS{}
	_ pfs.Impersonator   = FS{}
)

// WithOwner returns the same tree, in which new files belong to owner.
func (f FS) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	var err error
	f.owner, err = idsOf("cephfs.WithOwner", owner)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Impersonate returns the same tree with every call made as owner.
func (f FS) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	id, err := idsOf("cephfs.Impersonate", owner)
	if err != nil {
		return nil, err
	}
	f.as, f.owner = id, id
	return f, nil
}

// given returns the owner that new files must be given to, nil if calls are made as their owner.
func (f FS) given() *ids {
	if f.owner == f.as {
		return nil
	}
	return &f.owner
}

// Close closes the store.
func (f FS) Close() error { return f.store.close() }
