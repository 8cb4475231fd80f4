package pfs

import (
	"context"
	"io/fs"
	"time"
)

// The optional capabilities are interfaces of one method that a FileSystem may implement. Call
// the function below each, which asserts it; those of TreeRemover and UsageReporter, which have
// a fallback, are in tree.go. BatchReader, RangeReader and BatchCopier have files of their
// own. To answer Unsupported is the same as not to implement a capability.

// Symlinker makes symbolic links.
type Symlinker interface {
	// Symlink makes name a link to target, which it does not change. It answers Exist if
	// name exists.
	Symlink(ctx context.Context, target string, name Path) error
}

// MakeLink makes name a symbolic link to target, where fsys is a Symlinker.
func MakeLink(ctx context.Context, fsys FileSystem, target string, name Path) error {
	if c, ok := fsys.(Symlinker); ok {
		return c.Symlink(ctx, target, name)
	}
	return E("pfs.MakeLink", name, Unsupported, nil)
}

// ExclusiveRenamer renames without replacing.
type ExclusiveRenamer interface {
	// RenameExclusive is Rename, but answers Exist if newName exists.
	RenameExclusive(ctx context.Context, oldName, newName Path) error
}

// RenameExclusive renames without replacing, where fsys is an ExclusiveRenamer.
func RenameExclusive(ctx context.Context, fsys FileSystem, oldName, newName Path) error {
	if c, ok := fsys.(ExclusiveRenamer); ok {
		return c.RenameExclusive(ctx, oldName, newName)
	}
	return E("pfs.RenameExclusive", newName, Unsupported, nil)
}

// TreeRemover removes whole trees faster than one entry at a time.
type TreeRemover interface {
	// RemoveTree removes name and all below it. A missing name answers NotExist. Links are
	// removed, not followed. After an error, what it has not reached is still there.
	RemoveTree(ctx context.Context, name Path) error
}

// Space is the size of a store, in bytes. Used and Free add up to less than Total if the store
// reserves space or shares its disk.
type Space struct {
	Total int64
	Used  int64 // taken by files
	Free  int64 // can still be written
	// Copies is how many copies of a new file the store keeps, 0 where it has no such number. The sizes count one.
	Copies int
}

// SpaceReporter reports how large the store is.
type SpaceReporter interface {
	// Space reports the store that holds name.
	Space(ctx context.Context, name Path) (Space, error)
}

// SpaceOf reports the store that holds name, where fsys is a SpaceReporter.
func SpaceOf(ctx context.Context, fsys FileSystem, name Path) (Space, error) {
	if c, ok := fsys.(SpaceReporter); ok {
		return c.Space(ctx, name)
	}
	return Space{}, E("pfs.SpaceOf", name, Unsupported, nil)
}

// Usage is the content of a directory, not counting itself, and its quota.
type Usage struct {
	Bytes, Files, Dirs int64
	// MaxBytes and MaxFiles are the quota; 0 means none. MaxFiles counts files
	// and directories together.
	MaxBytes, MaxFiles int64
	// Stored and MaxStored are Bytes and MaxBytes with all copies that the store keeps, 0 where it does not count them.
	Stored, MaxStored int64
}

// UsageReporter knows the totals of a tree without a walk.
type UsageReporter interface {
	// Usage counts the tree below the directory name. The quota is the one set on name
	// itself.
	Usage(ctx context.Context, name Path) (Usage, error)
}

// QuotaSetter limits trees.
type QuotaSetter interface {
	// SetQuota limits the tree below the directory name; 0 lifts a limit. Writes that would
	// exceed a limit then answer Quota.
	SetQuota(ctx context.Context, name Path, maxBytes, maxFiles int64) error
}

// SetQuota limits the tree below name, where fsys is a QuotaSetter. Negative limits answer
// Invalid.
func SetQuota(ctx context.Context, fsys FileSystem, name Path, maxBytes, maxFiles int64) error {
	if maxBytes < 0 || maxFiles < 0 {
		return Errorf("pfs.SetQuota", name, Invalid, "a quota of %d bytes and %d files: limits are 0 (none) or more", maxBytes, maxFiles)
	}
	if c, ok := fsys.(QuotaSetter); ok {
		return c.SetQuota(ctx, name, maxBytes, maxFiles)
	}
	return E("pfs.SetQuota", name, Unsupported, nil)
}

// Copier copies a file inside the store or service: the bytes do not pass through the caller.
type Copier interface {
	// CopyFile stages a copy of the file src and commits it as dst, verified.
	// progress, if not nil, is called from time to time with the number of bytes copied.
	CopyFile(ctx context.Context, src, dst Path, opts CopyOptions, progress func(done int64)) (Info, error)
}

// CopyInside makes dst a copy of the file src, where fsys is a Copier. Package transfer copies
// between any two file systems.
func CopyInside(ctx context.Context, fsys FileSystem, src, dst Path, opts CopyOptions, progress func(done int64)) (Info, error) {
	if c, ok := fsys.(Copier); ok {
		return c.CopyFile(ctx, src, dst, opts, progress)
	}
	return Info{}, E("pfs.CopyInside", dst, Unsupported, nil)
}

// CopyOptions are the options of CopyFile. The zero value replaces the target and keeps the
// source's mode and time.
type CopyOptions struct {
	ID        string // of the upload, so that a copy can be resumed; see CreateOptions
	NoReplace bool
	NewTime   bool // the copy's time is now, not the source's
}

// Commit returns the options to publish a copy of from with. digest is the copy's.
func (o CopyOptions) Commit(from Info, digest string) CommitOptions {
	c := CommitOptions{Size: from.Size, Mode: from.Mode, ModTime: from.ModTime, Digest: digest, NoReplace: o.NoReplace}
	if o.NewTime {
		c.ModTime = time.Time{}
	}
	return c
}

// Digester computes digests where the bytes are.
type Digester interface {
	// Digest reads the stored bytes of the file name and returns their tree digest as
	// "algorithm:hex"; package pfs/digest lists the algorithms. An unknown algorithm
	// answers Unsupported.
	Digest(ctx context.Context, name Path, algorithm string, progress func(done int64)) (string, error)
}

// LeafDigest is the XXH3-128 of one leaf of ChunkSize bytes of a file (the last one may be
// shorter), big-endian. Package pfs/digest computes it.
type LeafDigest [16]byte

// Leaves returns the number of leaves of a file of size bytes.
func Leaves(size int64) int64 {
	if size == 0 {
		return 0
	}
	return (size-1)/ChunkSize + 1
}

// LeafDigester describes what an upload holds without sending it. It is a capability of a
// Staged, not of a FileSystem.
type LeafDigester interface {
	// LeafDigests returns the digests of up to n leaves, from leaf first on, of a file that
	// will have size bytes; fewer if fewer were staged.
	LeafDigests(ctx context.Context, size, first int64, n int) ([]LeafDigest, error)
}

// Identifier distinguishes uploads. It is a capability of a Staged: two uploads write the same
// bytes exactly if their identities are equal (==), whatever names and links led to them.
type Identifier interface {
	Identity() any
}

// IdentityOf returns the identity of w, nil if it has none.
func IdentityOf(w Staged) any {
	if i, ok := w.(Identifier); ok {
		return i.Identity()
	}
	return nil
}

// BatchEntry is one small file or one directory of WriteBatch.
type BatchEntry struct {
	Path    Path
	Mode    fs.FileMode // fs.ModeDir makes a directory, as Mkdir does
	ModTime time.Time   // of files; zero means now
	Data    []byte      // the whole content
	Digest  string      // see CommitOptions
	// NoReplace answers Exist if something has the name.
	NoReplace bool
}

// Commit returns the options to publish a file of e with.
func (e BatchEntry) Commit() CommitOptions {
	return CommitOptions{Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest, NoReplace: e.NoReplace}
}

// BatchWriter writes many small files for little more than the price of one.
type BatchWriter interface {
	// WriteBatch makes the entries in order, each as Mkdir or as Create and Commit would:
	// whole or not at all. It returns one error an entry, in order; nil means done and
	// durable.
	WriteBatch(ctx context.Context, entries []BatchEntry) []error
}

// WriteBatch makes the entries in order, one by one if fsys is not a BatchWriter.
// len(errs) == len(entries).
func WriteBatch(ctx context.Context, fsys FileSystem, entries []BatchEntry) (errs []error) {
	if c, ok := fsys.(BatchWriter); ok {
		return c.WriteBatch(ctx, entries)
	}
	errs = make([]error, len(entries))
	for i, e := range entries {
		errs[i] = writeEntry(ctx, fsys, e)
	}
	return errs
}

// writeEntry makes one entry with the core operations.
func writeEntry(ctx context.Context, fsys FileSystem, e BatchEntry) error {
	if e.Mode.IsDir() {
		return fsys.Mkdir(ctx, e.Path, e.Mode.Perm())
	}
	w, err := fsys.Create(ctx, e.Path, CreateOptions{Size: int64(len(e.Data))})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	for off := 0; off < len(e.Data); off += ChunkSize {
		end := min(off+ChunkSize, len(e.Data))
		if _, err := w.WriteAt(ctx, e.Data[off:end], int64(off)); err != nil {
			return err
		}
	}
	_, err = w.Commit(ctx, e.Commit())
	return err
}

// Sweeper removes abandoned uploads.
type Sweeper interface {
	// Sweep removes the uploads below dir that are older than age, and returns their number
	// and the bytes that they held.
	Sweep(ctx context.Context, dir Path, age time.Duration) (n int, bytes int64, err error)
}

// Sweep removes abandoned uploads below dir, where fsys is a Sweeper.
func Sweep(ctx context.Context, fsys FileSystem, dir Path, age time.Duration) (n int, bytes int64, err error) {
	if c, ok := fsys.(Sweeper); ok {
		return c.Sweep(ctx, dir, age)
	}
	return 0, 0, E("pfs.Sweep", dir, Unsupported, nil)
}

// AccessChecker reports whether an operation would be refused, without doing it.
type AccessChecker interface {
	// CheckAccess returns the error with which an operation that needs the access a to name
	// would be refused, if that is known in advance. It does not follow links.
	CheckAccess(ctx context.Context, a Access, name Path) error
}

// CheckAccess returns an error if fsys refuses an access. It returns nil if fsys is not an
// AccessChecker: such a store refuses the operation itself.
func CheckAccess(ctx context.Context, fsys FileSystem, a Access, name Path) error {
	if c, ok := fsys.(AccessChecker); ok {
		return c.CheckAccess(ctx, a, name)
	}
	return nil
}

// BlockLocation is the location of a part of a file.
type BlockLocation struct {
	Offset, Length int64
	Hosts          []string // names of the machines, the nearest first
}

// BlockLocator locates the blocks of files, so that work can be placed near them.
type BlockLocator interface {
	// BlockLocations returns the locations of n bytes of the file name from off on, in order and
	// without gaps. The first and the last location may extend beyond that range, but not beyond
	// the end of the file.
	BlockLocations(ctx context.Context, name Path, off, n int64) ([]BlockLocation, error)
}

// LocateBlocks returns the locations of a range of name if fsys is a BlockLocator. A negative range
// returns Invalid.
func LocateBlocks(ctx context.Context, fsys FileSystem, name Path, off, n int64) ([]BlockLocation, error) {
	if off < 0 || n < 0 {
		return nil, Errorf("pfs.LocateBlocks", name, Invalid, "%d bytes from %d on", n, off)
	}
	if c, ok := fsys.(BlockLocator); ok {
		return c.BlockLocations(ctx, name, off, n)
	}
	return nil, E("pfs.LocateBlocks", name, Unsupported, nil)
}
