// Package aferofs joins pfs and github.com/spf13/afero, both ways: Store makes a
// pfs.FileSystem of any afero.Fs, FromPFS makes an afero.Fs of any tree.
//
// # An afero.Fs as a store
//
// afero's file systems differ among themselves and promise little of what package
// pfs promises. Store asks them for the plain operations only and sees to the rest
// itself: it looks at every directory on the way to a name, so that no link is
// followed, a parent is never made by accident and each error has its Kind; it
// stages writes in hidden temporaries; and it holds one lock while names change,
// so that a check and the change that it allows are one step. The lock covers the
// users of one Store: whoever changes the afero.Fs behind it at the same time can
// still win a race with NoReplace, RenameExclusive or Rename over a directory.
//
// Listings are in the order of names, and a token is a place in that order, so it
// is good as long as the directory is there, in every process. Memory is two
// megabytes of names a listing; a directory with more is read again whenever they
// are used up.
//
// Kept with a file are its bytes, permission bits and time; a digest is not. A
// Version is made of size and time, on Linux of inode and change time, and of a
// count kept in memory that tells apart what these do not.
//
// # A tree as an afero.Fs
//
// The contract of package pfs shows through: a file that is made or truncated is
// staged, and Close publishes it. See FromPFS.
//
// # Files
//
//	store, find, kind               an afero.Fs as a store, the way down to a name, errors as Kinds
//	info, generation, stamp_*       what is known of a file, and what tells its versions apart
//	open, change, remove,     one operation each, or two
//	rename, link, digest
//	list, listing, names            a page, the names that it is cut from, and the directory they are read from
//	staged, upload, commit, sweep   a handle of a staged write, its temporary, its publishing, what was left
//	tree, tree_*                    any tree as an afero.Fs: its operations, and the files and directories it opens
package aferofs
