// Package rules contains conditions of the contract that every store checks in its operations,
// between reading the store and changing it.
package rules

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// Special are the bits of a mode beside type and permissions. SetAttr does not change them on
// directories unless one is given, since they determine the group of new files.
const Special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Open returns an error if a file of this mode cannot be opened.
func Open(op string, name pfs.Path, mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return pfs.E(op, name, pfs.IsDir, nil)
	case mode&fs.ModeSymlink != 0:
		return pfs.E(op, name, pfs.Symlink, nil)
	}
	return pfs.Errorf(op, name, pfs.Unsupported, "it is a %s, not a regular file", TypeName(mode))
}

// TypeName names a type other than file, directory and link.
func TypeName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "fifo"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// Publish returns an error if a file uploaded as name cannot replace the existing entry, whose mode
// is there.
func Publish(op string, name pfs.Path, there fs.FileMode, noReplace bool) error {
	switch {
	case noReplace:
		return pfs.E(op, name, pfs.Exist, nil)
	case there.IsDir():
		return pfs.E(op, name, pfs.IsDir, nil)
	}
	return nil
}

// Symlink returns an error if name cannot become a link to target.
func Symlink(op string, name pfs.Path, target string) error {
	if name == pfs.Root {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if target == "" || strings.IndexByte(target, 0) >= 0 {
		return pfs.Errorf(op, name, pfs.Invalid, "a link cannot lead to %q", target)
	}
	return nil
}

// Mknod returns Invalid if Mknod cannot make a file of this mode.
func Mknod(op string, name pfs.Path, mode fs.FileMode) error {
	if mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0 || !unixmode.HasType(unixmode.Bits(mode)) {
		return pfs.Errorf(op, name, pfs.Invalid, "mode %v is not that of a FIFO, socket or device", mode)
	}
	return nil
}

// SetAttr returns an error if a file of this mode cannot have the attributes of mask.
func SetAttr(op string, name pfs.Path, mode fs.FileMode, mask pfs.AttrMask) error {
	content := mask&(pfs.AttrSize|pfs.AttrReplication) != 0
	switch link := mode&fs.ModeSymlink != 0; {
	case link && mask&pfs.AttrLink == 0:
		return pfs.E(op, name, pfs.Symlink, nil)
	case link && mask&pfs.AttrMode != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "a symbolic link has no permission bits of its own")
	case mode.IsDir() && content:
		return pfs.E(op, name, pfs.IsDir, nil)
	case !mode.IsRegular() && content:
		return pfs.Errorf(op, name, pfs.Invalid, "a special file has no content")
	}
	return nil
}

// UserXattrs returns the extended attributes in names that users may use, sorted. It changes names.
func UserXattrs(names []string) []string {
	names = slices.DeleteFunc(names, func(attr string) bool {
		return !strings.HasPrefix(attr, pfs.XattrPrefix) || pfs.ReservedXattr(attr)
	})
	slices.Sort(names)
	return names
}
