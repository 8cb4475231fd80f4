package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// everything is the capabilities of a store without gaps.
const everything = pfs.CanRename | pfs.CanRenameDir | pfs.CanRenameNew | pfs.CanKeepEmptyDir | pfs.CanReadStaged |
	pfs.CanOpenHandle | pfs.CanAppend | pfs.CanWriteRandom | pfs.CanAllocate |
	pfs.CanSetMode | pfs.CanSetOwner | pfs.CanSetTimes | pfs.CanSetAccessTime | pfs.CanSetReplication |
	pfs.CanXattr | pfs.CanSymlink | pfs.CanHardLink | pfs.CanMknod | pfs.CanConcat | pfs.CanCopyInside |
	pfs.CanDigest | pfs.CanSpace | pfs.CanUsage | pfs.CanSetQuota | pfs.CanLocateBlocks

// Capabilities returns the capabilities of the store, which are the same everywhere.
func (s *FS) Capabilities(ctx context.Context, name pfs.Path) (c pfs.Capabilities, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.Capabilities", name, (*FS).find, 0, 0, func(*node) error {
		c = s.can
		return nil
	})
	return c, err
}

// need answers Unsupported if the store lacks one of the capabilities.
func (s *FS) need(op string, name pfs.Path, c pfs.Capabilities) error {
	if s.can.Has(c) {
		return nil
	}
	return pfs.E(op, name, pfs.Unsupported, nil)
}
