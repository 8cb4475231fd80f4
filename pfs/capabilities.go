package pfs

import "context"

// Capabilities says what can be done below a path. The numbers cross the wire: the list
// is append-only.
type Capabilities uint64

// The capabilities. One that is not set answers Unsupported when it is tried.
const (
	CanRename         Capabilities = 1 << iota // Rename of files
	CanRenameDir                               // Rename of directories, whole
	CanRenameNew                               // RenameExclusive
	CanKeepEmptyDir                            // a directory exists without anything below it
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

// Has reports whether all of want are in c.
func (c Capabilities) Has(want Capabilities) bool { return c&want == want }

// CapabilityReporter says what can be done, so that nobody has to try.
type CapabilityReporter interface {
	// Capabilities returns what can be done below the directory name, by the caller's
	// identity or another: permissions are asked with CheckAccess.
	Capabilities(ctx context.Context, name Path) (Capabilities, error)
}

// CapabilitiesOf returns what can be done below name. A file system that is no
// CapabilityReporter can do what the seven operations of FileSystem promise.
func CapabilitiesOf(ctx context.Context, fsys FileSystem, name Path) (Capabilities, error) {
	if c, ok := fsys.(CapabilityReporter); ok {
		return c.Capabilities(ctx, name)
	}
	return CanRename | CanRenameDir | CanKeepEmptyDir | CanReadStaged, nil
}
