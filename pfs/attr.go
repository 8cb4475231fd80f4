package pfs

import (
	"context"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

// AttrMask names attributes of a file.
type AttrMask uint16

// The attributes that SetAttr sets.
const (
	AttrMode AttrMask = 1 << iota // permission bits, with setuid, setgid and sticky where the store has them
	AttrSize
	AttrModTime
	AttrAccessTime
	AttrUID
	AttrGID
	AttrOwner
	AttrGroup
	AttrReplication

	// AttrLink sets the attributes of a symbolic link itself. Without it a link answers Symlink.
	AttrLink

	allAttrs = AttrLink<<1 - 1
)

// Check answers Invalid if m, or a value that it selects, is not valid. Every SetAttr begins
// with it.
func (m AttrMask) Check(op string, name Path, attrs Attrs) error {
	switch {
	case m&^allAttrs != 0:
		return Errorf(op, name, Invalid, "unknown attributes %#x", uint16(m&^allAttrs))
	case m&AttrSize != 0 && attrs.Size < 0:
		return Errorf(op, name, Invalid, "negative size %d", attrs.Size)
	case m&AttrModTime != 0 && attrs.ModTime.IsZero(), m&AttrAccessTime != 0 && attrs.AccessTime.IsZero():
		return Errorf(op, name, Invalid, "no time was given")
	case m&AttrReplication != 0 && attrs.Replication < 1:
		return Errorf(op, name, Invalid, "replication %d: it must be at least 1", attrs.Replication)
	}
	return nil
}

// Attrs are values of attributes; an AttrMask selects those that count.
type Attrs struct {
	Mode                fs.FileMode
	Size                int64 // in bytes
	ModTime, AccessTime time.Time
	UID, GID            uint32
	Owner, Group        string // as the store names them
	Replication         int    // copies that the store keeps
}

// AttrSetter changes attributes.
type AttrSetter interface {
	// SetAttr sets the attributes of attrs that mask selects. A mode without setuid, setgid and
	// sticky leaves those of a directory as they are, as chmod(1) does. If the store cannot set
	// one of the attributes, it changes none and answers Unsupported. Stores keep times to the
	// second at least. The stored digest stays valid when only times change. A Size shortens
	// the file or lengthens it with zeros.
	SetAttr(ctx context.Context, name Path, mask AttrMask, attrs Attrs) error
}

// SetAttr sets attributes of name, where fsys is an AttrSetter.
func SetAttr(ctx context.Context, fsys FileSystem, name Path, mask AttrMask, attrs Attrs) error {
	if c, ok := fsys.(AttrSetter); ok {
		return c.SetAttr(ctx, name, mask, attrs)
	}
	return E("pfs.SetAttr", name, Unsupported, nil)
}

// XattrFlags restrict SetXattr to new or to existing attributes.
type XattrFlags uint8

// The flags of SetXattr; 0 sets the attribute either way.
const (
	XattrCreate  XattrFlags = 1 << iota // answer Exist if the attribute exists
	XattrReplace                        // answer NoAttr if it does not
)

// XattrPrefix begins the names of extended attributes that users may use.
const XattrPrefix = "user."

// reservedXattrs begins the names of the attributes that are reserved for stores.
const reservedXattrs = XattrPrefix + "pfs."

// ReservedXattr reports whether the extended attribute attr is reserved for stores.
func ReservedXattr(attr string) bool { return strings.HasPrefix(attr, reservedXattrs) }

// CheckXattr returns an error if users may not use the extended attribute attr. Every method of
// an XattrKeeper that takes an attribute begins with it.
func CheckXattr(op string, name Path, attr string) error {
	switch {
	case !strings.HasPrefix(attr, XattrPrefix):
		return Errorf(op, name, Unsupported, "extended attribute %.80q: its name must begin with %q", attr, XattrPrefix)
	case ReservedXattr(attr):
		return Errorf(op, name, Permission, "extended attribute %.80q: the store keeps it for itself", attr)
	case len(attr) == len(XattrPrefix), len(attr) > MaxName, strings.IndexByte(attr, 0) >= 0, !utf8.ValidString(attr):
		return Errorf(op, name, Invalid, "%.80q cannot be the name of an extended attribute", attr)
	}
	return nil
}

// XattrKeeper keeps extended attributes of files and directories. Names begin with XattrPrefix;
// any other answers Unsupported. Reserved attributes are not listed, and every access to them
// answers Permission. A symbolic link answers Symlink.
type XattrKeeper interface {
	// Xattr returns the value of the attribute attr. A missing one answers NoAttr.
	Xattr(ctx context.Context, name Path, attr string) ([]byte, error)
	// SetXattr sets an attribute. A value too long for the store answers NoSpace.
	SetXattr(ctx context.Context, name Path, attr string, value []byte, flags XattrFlags) error
	// ListXattr returns the names of all attributes, sorted.
	ListXattr(ctx context.Context, name Path) ([]string, error)
	// RemoveXattr removes an attribute. A missing one answers NoAttr.
	RemoveXattr(ctx context.Context, name Path, attr string) error
}

// HardLinker gives files more than one name.
type HardLinker interface {
	// HardLink gives the file oldName the second name newName. It answers Exist if newName
	// exists, IsDir if oldName is a directory.
	HardLink(ctx context.Context, oldName, newName Path) error
}

// HardLink gives the file oldName a second name, where fsys is a HardLinker.
func HardLink(ctx context.Context, fsys FileSystem, oldName, newName Path) error {
	if c, ok := fsys.(HardLinker); ok {
		return c.HardLink(ctx, oldName, newName)
	}
	return E("pfs.HardLink", newName, Unsupported, nil)
}

// NodeMaker makes special files.
type NodeMaker interface {
	// Mknod makes a FIFO, socket or device, according to the type bits of mode. device is
	// its number, major<<8|minor as Linux encodes it, and 0 for FIFOs and sockets. Mknod
	// answers Exist if name exists.
	Mknod(ctx context.Context, name Path, mode fs.FileMode, device uint64) error
}

// Mknod makes a special file, where fsys is a NodeMaker.
func Mknod(ctx context.Context, fsys FileSystem, name Path, mode fs.FileMode, device uint64) error {
	if c, ok := fsys.(NodeMaker); ok {
		return c.Mknod(ctx, name, mode, device)
	}
	return E("pfs.Mknod", name, Unsupported, nil)
}

// Concatenator joins files without moving their bytes.
type Concatenator interface {
	// Concat appends the files sources, in order, to the existing file target and
	// removes them. It does all of it or nothing.
	Concat(ctx context.Context, target Path, sources []Path) error
}

// Concat joins sources to target, where fsys is a Concatenator.
func Concat(ctx context.Context, fsys FileSystem, target Path, sources []Path) error {
	if c, ok := fsys.(Concatenator); ok {
		return c.Concat(ctx, target, sources)
	}
	return E("pfs.Concat", target, Unsupported, nil)
}

// XattrsOf returns the extended attributes of fsys. Their methods answer Unsupported
// where fsys is not an XattrKeeper.
func XattrsOf(fsys FileSystem) XattrKeeper {
	if c, ok := fsys.(XattrKeeper); ok {
		return c
	}
	return noXattrs{}
}

type noXattrs struct{}

func (noXattrs) Xattr(_ context.Context, name Path, _ string) ([]byte, error) {
	return nil, E("pfs.Xattr", name, Unsupported, nil)
}

func (noXattrs) SetXattr(_ context.Context, name Path, _ string, _ []byte, _ XattrFlags) error {
	return E("pfs.SetXattr", name, Unsupported, nil)
}

func (noXattrs) ListXattr(_ context.Context, name Path) ([]string, error) {
	return nil, E("pfs.ListXattr", name, Unsupported, nil)
}

func (noXattrs) RemoveXattr(_ context.Context, name Path, _ string) error {
	return E("pfs.RemoveXattr", name, Unsupported, nil)
}
