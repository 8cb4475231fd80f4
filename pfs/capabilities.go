package pfs

import "context"

// Capabilities are the operations that are possible below a path. The numbers cross the wire:
// the list is append-only.
type Capabilities uint64

// The capabilities. An operation whose capability is not set answers Unsupported.
const (
	CanRename         Capabilities = 1 << iota // Rename of files
	CanRenameDir                               // Rename of directories, whole
	CanRenameNew                               // RenameExclusive
	CanKeepEmptyDir                            // an empty directory exists
	CanReadStaged                              // Staged.ReadAt, so that an interrupted copy is resumed
	CanOpenHandle                              // OpenHandle for reading
	CanAppend                                  // handles with OpenAppend
	CanWriteRandom                             // WriteAt of a handle at any offset, and Truncate
	CanAllocate                                // Handle.Allocate
	CanSetMode                                 // SetAttr of AttrMode
	CanSetOwner                                // SetAttr of AttrUID, AttrGID, AttrOwner and AttrGroup
	CanSetTimes                                // SetAttr of AttrModTime
	CanSetAccessTime                           // SetAttr of AttrAccessTime
	CanSetReplication                          // SetAttr of AttrReplication
	CanXattr                                   // extended attributes
	CanSymlink                                 // MakeLink
	CanHardLink                                // HardLink
	CanMknod                                   // Mknod
	CanConcat                                  // Concat
	CanCopyInside                              // CopyInside
	CanDigest                                  // Digest, where the bytes are
	CanStoreChecksum                           // Digest with the store's own checksum algorithm
	CanSpace                                   // SpaceOf
	CanUsage                                   // UsageOf without a walk
	CanSetQuota                                // SetQuota
	CanLocateBlocks                            // LocateBlocks
)

// Has reports whether c contains all of want.
func (c Capabilities) Has(want Capabilities) bool { return c&want == want }

// CapabilityReporter reports its capabilities, so that callers need not try.
type CapabilityReporter interface {
	// Capabilities returns what can be done below the directory name, whoever the caller
	// is: CheckAccess checks permissions.
	Capabilities(ctx context.Context, name Path) (Capabilities, error)
}

// CapabilitiesOf returns what can be done below name. Without a CapabilityReporter these are
// the operations of FileSystem itself.
func CapabilitiesOf(ctx context.Context, fsys FileSystem, name Path) (Capabilities, error) {
	if c, ok := fsys.(CapabilityReporter); ok {
		return c.Capabilities(ctx, name)
	}
	return CanRename | CanRenameDir | CanKeepEmptyDir | CanReadStaged, nil
}
