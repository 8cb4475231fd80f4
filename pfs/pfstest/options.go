package pfstest

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options describes the store to test.
type Options struct {
	// New returns a new file system whose root is an empty directory. It cleans up with
	// t.Cleanup.
	New func(t *testing.T) pfs.FileSystem

	// Reopen returns another instance of the store of fsys, which New returned, as a process
	// started later would see it. Afterwards the suite only closes open files of fsys. Reopen is
	// nil if this is not possible.
	Reopen func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem

	// Gaps are the operations that the store lacks.
	Gaps Gap

	// Owners are two users that the store can have. It is empty for a store without users:
	// pfs.WithOwner and pfs.Impersonate must answer Unsupported then.
	Owners []pfs.Owner

	// Service is the user that the store itself works as; zero if that cannot be an Owner.
	Service pfs.Owner

	// Times is the precision to which modification times are kept; 0 means a nanosecond.
	// The store truncates to it.
	Times time.Duration

	// Parallel runs promises at the same time. It is for slow stores; New and Reopen must
	// be safe for concurrent calls.
	Parallel bool

	// Names is the number of entries of the large directory; 0 means 100,000.
	Names int
}

// Gap is a set of things that a store cannot do.
type Gap uint

// The gaps. Unless its comment says otherwise, the function of package pfs must answer
// Unsupported.
const (
	NoSymlink         Gap = 1 << iota // pfs.MakeLink
	NoChmod                           // pfs.SetAttr of AttrMode
	NoChtime                          // pfs.SetAttr of AttrModTime
	NoAccessTime                      // pfs.SetAttr of AttrAccessTime
	NoSetOwner                        // pfs.SetAttr of AttrUID, AttrGID, AttrOwner and AttrGroup
	NoReplication                     // pfs.SetAttr of AttrReplication
	NoXattr                           // pfs.XattrsOf
	NoHardLink                        // pfs.HardLink
	NoMknod                           // pfs.Mknod
	NoConcat                          // pfs.Concat
	NoHandle                          // pfs.OpenHandle
	NoAppend                          // pfs.OpenHandle with OpenAppend
	NoAllocate                        // Handle.Allocate
	NoExclusiveRename                 // pfs.RenameExclusive
	NoExclusiveCommit                 // CommitOptions.NoReplace
	NoQuota                           // pfs.SetQuota
	NoSpaceReport                     // pfs.SpaceOf
	NoDigester                        // the Digester capability
	NoSweep                           // pfs.Sweep
	NoBlockLocations                  // pfs.LocateBlocks
	NoCopy                            // pfs.CopyInside

	// NoRandomWrite: a Handle writes at the end of the file only, and neither it nor
	// SetAttr changes the size.
	NoRandomWrite

	// NoHandleTime: Handle.SetAttr of AttrModTime answers Unsupported.
	NoHandleTime

	// NoFileID: Info.ID is 0.
	NoFileID

	// NoCapabilities: the store is not a CapabilityReporter.
	NoCapabilities

	// NoRenameDir: Rename of a directory answers Unsupported.
	NoRenameDir

	// NoEmptyDir: a directory exists while there is a file below it. Mkdir succeeds and has no
	// effect that can be seen; whether Create needs it is up to the store.
	NoEmptyDir

	// NoReadStaged: staged bytes cannot be read back, so that LeafDigests answers
	// Unsupported too.
	NoReadStaged

	// NoLeafDigests: the Staged is not a LeafDigester, or answers Unsupported.
	NoLeafDigests

	// NoMode: the store chooses the permission bits itself.
	NoMode

	// NoKeptDigest: Info.Digest is always empty.
	NoKeptDigest

	// WeakVersion: Info.Version stays when a file is replaced by one of the same size and
	// modification time.
	WeakVersion

	// NoCommitMemory: Commit forgets the ID. Create with it answers Conflict, or begins an
	// empty upload whose Commit answers Integrity; the published file does not change.
	NoCommitMemory

	// NoColon: names with a ":" answer Invalid.
	NoColon

	// LooseQuota: a quota is enforced in the end, neither at once nor to the byte.
	LooseQuota

	// LateWrites: what a Handle writes counts for usage and quotas only once it is synced.
	LateWrites

	// NoImpersonate: pfs.Impersonate answers Unsupported, although the store has users.
	NoImpersonate

	noOwners  // Options.Owners is empty
	noService // Options.Service is zero
)

// WholeFiles are the gaps of a store that only keeps whole files with their content, time and
// permission bits.
const WholeFiles = NoAccessTime | NoSetOwner | NoReplication | NoXattr | NoHardLink | NoMknod | NoConcat |
	NoHandle | NoAppend | NoAllocate | NoRandomWrite | NoFileID | NoCapabilities

// gaps returns the declared gaps and those that follow from other options.
func (o Options) gaps() Gap {
	g := o.Gaps
	if len(o.Owners) == 0 {
		g |= noOwners
	}
	if o.Service == (pfs.Owner{}) {
		g |= noService
	}
	return g
}

// has reports whether g and h have a gap in common.
func (g Gap) has(h Gap) bool { return g&h != 0 }

func (o Options) names() int {
	if o.Names == 0 {
		return 100_000
	}
	return o.Names
}
