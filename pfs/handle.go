package pfs

import (
	"context"
	"io/fs"
)

// OpenFlags are the flags of OpenHandle. The zero value is not valid.
type OpenFlags uint8

// The flags of OpenHandle. At least one of OpenRead and OpenWrite is set; the others
// need OpenWrite.
const (
	OpenRead OpenFlags = 1 << iota
	OpenWrite
	// OpenCreate makes an empty file if nothing has the name.
	OpenCreate
	// OpenExclusive, with OpenCreate, answers Exist if something has the name, even a
	// symbolic link.
	OpenExclusive
	// OpenTruncate sets the length of an existing file to 0.
	OpenTruncate
	// OpenAppend makes each WriteAt write at the end of the file, whatever its
	// offset. Appends of several handles do not overwrite each other.
	OpenAppend

	allOpenFlags = OpenAppend<<1 - 1
)

// Check answers Invalid if f is not a valid combination. Every OpenHandle begins with it.
func (f OpenFlags) Check(op string, name Path) error {
	switch {
	case f&^allOpenFlags != 0:
		return Errorf(op, name, Invalid, "unknown open flags %#x", uint8(f&^allOpenFlags))
	case f&(OpenRead|OpenWrite) == 0:
		return Errorf(op, name, Invalid, "open for neither reading nor writing")
	case f&(OpenCreate|OpenTruncate|OpenAppend) != 0 && f&OpenWrite == 0:
		return Errorf(op, name, Invalid, "create, truncate and append need a file open for writing")
	case f&OpenExclusive != 0 && f&OpenCreate == 0:
		return Errorf(op, name, Invalid, "exclusive open without create")
	}
	return nil
}

// Handle is an open file that is read and changed in place. Changes are visible to everybody at
// once; an upload, by contrast, becomes visible whole or not at all.
//
// A handle is bound to the file, not to its path: it stays usable after the name was renamed,
// replaced or removed. Only a store without random writes may answer Conflict after it was
// replaced or removed. Errors carry the path that OpenHandle was given. A handle that has
// expired, because its service restarted or its lease ended, answers Stale; writes since the
// last successful Sync may then be lost. After Close every method answers Closed. Methods may be
// called from any number of goroutines.
type Handle interface {
	// ReadAt reads into p from offset off, as File.ReadAt does. Without OpenRead it
	// answers Permission.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// WriteAt writes p at offset off and lengthens the file if necessary; a gap reads as
	// zeros. Without OpenWrite it answers Permission. A store without random writes answers
	// Unsupported unless off is the end of the file.
	WriteAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// Truncate makes the file size bytes long.
	Truncate(ctx context.Context, size int64) error

	// Allocate reserves space for the n bytes from offset off on and lengthens the file if
	// necessary. A store that cannot reserve answers Unsupported.
	Allocate(ctx context.Context, off, n int64) error

	// Sync returns when everything written survives a crash of the store.
	Sync(ctx context.Context) error

	// Stat describes the file in its current state. Info.Name is the name it was opened by.
	Stat(ctx context.Context) (Info, error)

	// SetAttr sets the attributes of attrs that mask selects, as AttrSetter does.
	SetAttr(ctx context.Context, mask AttrMask, attrs Attrs) error

	// Close releases the handle, even if ctx is done. It returns the error of a write that
	// was not reported before. A second Close returns nil.
	Close(ctx context.Context) error
}

// HandleOpener opens files for reading and changing in place.
type HandleOpener interface {
	// OpenHandle opens the regular file name. A directory answers IsDir, a symbolic link
	// Symlink, any other special file Invalid. perm are the permission bits of a new file.
	OpenHandle(ctx context.Context, name Path, flags OpenFlags, perm fs.FileMode) (Handle, error)
}

// OpenHandle opens name, where fsys is a HandleOpener.
func OpenHandle(ctx context.Context, fsys FileSystem, name Path, flags OpenFlags, perm fs.FileMode) (Handle, error) {
	if c, ok := fsys.(HandleOpener); ok {
		return c.OpenHandle(ctx, name, flags, perm)
	}
	return nil, E("pfs.OpenHandle", name, Unsupported, nil)
}

// HandleID names a handle for programs that outlive a crash.
type HandleID struct {
	// ID is made by NewID.
	ID string

	// Continue asks for the handle that was opened by this ID before, which may still be open in the
	// service, with its path as it is now. File is then the Info.ID that it had, or 0.
	Continue bool
	File     uint64

	// Opened, if not nil, is where OpenHandle may store what Handle.Stat would return, which saves a request.
	Opened *Info
}

type handleIDKey struct{}

// WithHandleID makes OpenHandle use id for the handle that it opens. Stores that do not keep handles for
// a program that has died ignore it.
func WithHandleID(ctx context.Context, id HandleID) context.Context {
	return context.WithValue(ctx, handleIDKey{}, id)
}

// HandleIDOf returns the ID that WithHandleID has set.
func HandleIDOf(ctx context.Context) (id HandleID, ok bool) {
	id, ok = ctx.Value(handleIDKey{}).(HandleID)
	return id, ok
}
