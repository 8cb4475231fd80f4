// Package unixmode translates modes of files between Go and the numbers of Unix (st_mode),
// which stores and the protocol have. The numbers are the same wherever this is built.
package unixmode

import "io/fs"

// typeMask is the part of st_mode that says what a file is.
const typeMask = 0o170000

// types are the numbers of the types, each with Go's bits of it.
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

// special are the bits beside the permissions that say how a file is used.
var special = []struct {
	unix uint32
	mode fs.FileMode
}{
	{0o4000, fs.ModeSetuid},
	{0o2000, fs.ModeSetgid},
	{0o1000, fs.ModeSticky},
}

// FileMode returns the mode of st_mode bits. Without a type, or with one that is not
// known, it is irregular.
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

// HasType reports whether st_mode bits say what the file is.
func HasType(bits uint32) bool { return bits&typeMask != 0 }

// Bits returns mode as st_mode. What Unix has no type for gets none.
func Bits(mode fs.FileMode) uint32 {
	bits := Permissions(mode)
	for _, t := range types {
		if mode.Type() == t.mode {
			bits |= t.unix
		}
	}
	return bits
}

// Permissions returns the bits of mode that chmod takes: permissions and special bits,
// without the type.
func Permissions(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, s := range special {
		if mode&s.mode != 0 {
			bits |= s.unix
		}
	}
	return bits
}
