// Package memfs is a pfs.FileSystem in memory: the reference implementation.
//
// It keeps every promise of package pfs and has all of its optional
// capabilities, in the plainest way that could do so; where the contract leaves a
// choice, it takes the strictest. It is meant for tests, and to be read beside the
// contract.
//
// The tree hangs under one lock. The content of a published file is never changed
// where it lies: a Commit puts a new node in its place, and a change in place
// copies the pages that it touches. So an open File reads the version it was
// opened on, whatever happens to the name.
//
// # Files
//
//	memfs, node, directory, find     the store; a file, link or directory; its entries; the way to them
//	change, usage                    an entry put in and taken out; sums, quotas and space
//	content, file                    bytes in pages; an open file
//	create, stage, staged, commit,   staged writes, from the first byte to the new name, and what is left of them
//	sweep
//	handle                           files open for changes in place
//	list, mkdir, remove, rename,     one operation each, or some
//	link, attr, xattr, copy, batch,
//	locations
//	capabilities                     what the store can do
//	owner                            the store as others have it
package memfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// Options says how to make a file system. The zero value has no limit.
type Options struct {
	// Capacity is the size of the store in bytes: what files and staged writes
	// hold together. Writes beyond it answer NoSpace. 0 means no limit.
	Capacity int64

	// User is the user that the store works as, and the owner of what it makes. Nothing is
	// refused to it. Default: somebody without a name.
	User string

	// Without is what this store cannot do, so that tests have stores with gaps.
	Without pfs.Capabilities
}

// FS is a file system in memory, as one user has it. Make one with New.
type FS struct {
	*store
	acting
}

// store is what the FS of all users share.
type store struct {
	capacity int64
	user     string
	can      pfs.Capabilities

	mu     sync.RWMutex // guards the tree, and all of its nodes and stages
	root   *node
	staged int64  // bytes held by staged writes
	clock  uint64 // counts changes: versions and places in listings
	others map[acting]*FS
}

var (
	_ pfs.FileSystem         = (*FS)(nil)
	_ pfs.Symlinker          = (*FS)(nil)
	_ pfs.HardLinker         = (*FS)(nil)
	_ pfs.NodeMaker          = (*FS)(nil)
	_ pfs.AttrSetter         = (*FS)(nil)
	_ pfs.XattrKeeper        = (*FS)(nil)
	_ pfs.HandleOpener       = (*FS)(nil)
	_ pfs.CapabilityReporter = (*FS)(nil)
	_ pfs.ExclusiveRenamer   = (*FS)(nil)
	_ pfs.TreeRemover        = (*FS)(nil)
	_ pfs.SpaceReporter      = (*FS)(nil)
	_ pfs.UsageReporter      = (*FS)(nil)
	_ pfs.QuotaSetter        = (*FS)(nil)
	_ pfs.Copier             = (*FS)(nil)
	_ pfs.Concatenator       = (*FS)(nil)
	_ pfs.Digester           = (*FS)(nil)
	_ pfs.BatchWriter        = (*FS)(nil)
	_ pfs.Sweeper            = (*FS)(nil)
	_ pfs.BlockLocator       = (*FS)(nil)
	_ pfs.OwnershipGiver     = (*FS)(nil)
	_ pfs.Impersonator       = (*FS)(nil)
)

// New returns an empty file system.
func New(opts Options) *FS {
	service := acting{owner: opts.User}
	s := &store{capacity: opts.Capacity, user: opts.User, can: everything &^ opts.Without, root: service.newDir(0o755), others: map[acting]*FS{}}
	s.root.id = s.tick()
	return &FS{s, service}
}

// tick returns a number greater than all before.
func (s *store) tick() uint64 {
	s.clock++
	return s.clock
}

// begin is what every operation does first.
func begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// Stat describes name.
func (s *FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "memfs.Stat"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.find(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	return n.info(name.Base()), nil
}
