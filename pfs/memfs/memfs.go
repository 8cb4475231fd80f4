// Package memfs is a pfs.FileSystem in memory: the reference implementation.
//
// It keeps every promise of package pfs and has all of its optional capabilities, with the
// simplest code. Where the contract leaves a choice, it takes the strictest. It is for tests, and
// to be read together with the contract.
//
// One lock guards the tree. The content of a published file never changes in place: a Commit
// makes a new node, and a change in place copies the pages that it touches. So an open File reads
// the version it was opened on, even if the name is replaced.
//
// # Files
//
//	memfs, node, directory, find     the store; a file, link or directory; its entries; path lookup
//	change, usage                    adding and removing entries; totals, quotas and space
//	content, file                    bytes in pages; an open file
//	create, stage, staged, commit,   uploads, from the first byte to the new name or the sweep
//	sweep
//	handle                           files open for changes in place
//	list, mkdir, remove, rename,     the other operations
//	link, attr, xattr, copy, batch,
//	locations
//	capabilities                     what the store can do
//	owner                            the store as its users see it
package memfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Options are the options of New. The zero value has no limits.
type Options struct {
	// Capacity is the size of the store in bytes, for files and uploads together. Writes
	// beyond it answer NoSpace. 0 means no limit.
	Capacity int64

	// User is the user as which the store works, and the owner of new files. This user may do
	// everything. Default: a user without a name.
	User string

	// Without are capabilities that this store lacks, for tests.
	Without pfs.Capabilities
}

// FS is a file system in memory, as one user sees it. Make one with New.
type FS struct {
	*store
	acting
}

// store is the part that the FS of all users share.
type store struct {
	capacity int64
	user     string
	can      pfs.Capabilities

	mu     sync.RWMutex // guards the tree, and all of its nodes and stages
	root   *node
	staged int64  // bytes held by uploads
	clock  uint64 // counts changes: versions and positions in listings
	others map[acting]*FS
}

var (
	_ rules.Store        = (*FS)(nil)
	_ pfs.Symlinker      = (*FS)(nil)
	_ pfs.HardLinker     = (*FS)(nil)
	_ pfs.NodeMaker      = (*FS)(nil)
	_ pfs.Copier         = (*FS)(nil)
	_ pfs.Concatenator   = (*FS)(nil)
	_ pfs.BlockLocator   = (*FS)(nil)
	_ pfs.OwnershipGiver = (*FS)(nil)
	_ pfs.Impersonator   = (*FS)(nil)
)

// New returns an empty file system.
func New(opts Options) *FS {
	service := acting{owner: opts.User}
	s := &store{capacity: opts.Capacity, user: opts.User, can: everything &^ opts.Without, root: service.newDir(0o755), others: map[acting]*FS{}}
	s.root.id = s.tick()
	return &FS{s, service}
}

// tick returns a number greater than all earlier ones.
func (s *store) tick() uint64 {
	s.clock++
	return s.clock
}

// begin is the first step of every operation.
func begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// on begins an operation on the entry with the name, which needs the capabilities c of the store and the
// access a. It calls do with lock held, which is s.mu or its RLocker.
func (s *FS) on(ctx context.Context, lock sync.Locker, op string, name pfs.Path, find finder, c pfs.Capabilities, a access, do func(n *node) error) error {
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if err := s.need(op, name, c); err != nil {
		return err
	}
	lock.Lock()
	defer lock.Unlock()
	n, err := find(s, op, name)
	if err == nil {
		err = s.may(op, name, n, a)
	}
	if err != nil {
		return err
	}
	return do(n)
}

// Stat describes name.
func (s *FS) Stat(ctx context.Context, name pfs.Path) (info pfs.Info, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.Stat", name, (*FS).find, 0, 0, func(n *node) error {
		info = n.info(name.Base())
		return nil
	})
	return info, err
}
