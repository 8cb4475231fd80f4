// Package unixmode converts between Go's file modes and Unix's (st_mode), which stores and the
// protocol use. The numbers are the same on every platform.
package unixmode

import "io/fs"

// typeMask is the part of st_mode with the file type.
const typeMask = 0o170000

// types are the Unix file types with Go's bits for them.
var types = []struct {
	unix uint32
	mode fs.FileMode
}{
	{0o100000, 0}, // a regular file
	{0o040000, fs.ModeDir},
	{0o120000, fs.ModeSymlink},
	{0o010000, fs.ModeNamedPipe},
	{0o140000, fs.ModeSocket},
	{0o060000, fs.ModeDevice},
	{0o020000, fs.ModeDevice | fs.ModeCharDevice},
}

// special are the mode bits other than type and permissions.
var special = []struct {
	unix uint32
	mode fs.FileMode
}{
	{0o4000, fs.ModeSetuid},
	{0o2000, fs.ModeSetgid},
	{0o1000, fs.ModeSticky},
}

// FileMode converts st_mode bits. A missing or unknown type becomes irregular.
func FileMode(bits uint32) fs.FileMode {
	mode := fs.ModeIrregular
	for _, t := range types {
		if bits&typeMask == t.unix {
			mode = t.mode
		}
	}
	mode |= fs.FileMode(bits & 0o777)
	for _, s := range special {
		if bits&s.unix != 0 {
			mode |= s.mode
		}
	}
	return mode
}

// HasType reports whether st_mode bits contain a file type.
func HasType(bits uint32) bool { return bits&typeMask != 0 }

// Bits converts mode to st_mode. A type that Unix lacks is omitted.
func Bits(mode fs.FileMode) uint32 {
	bits := Permissions(mode)
	for _, t := range types {
		if mode.Type() == t.mode {
			bits |= t.unix
		}
	}
	return bits
}

// Permissions returns the bits of mode that chmod accepts: permissions and special bits, without
// the type.
func Permissions(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, s := range special {
		if mode&s.mode != 0 {
			bits |= s.unix
		}
	}
	return bits
}
