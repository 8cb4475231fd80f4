// Package aferofs joins pfs and github.com/spf13/afero, both ways: Store makes a
// pfs.FileSystem of any afero.Fs, FromPFS makes an afero.Fs of any tree.
//
// # An afero.Fs as a store
//
// Store uses only the plain operations of an afero.Fs. It checks every directory on the
// way to a name, so it never follows a symbolic link, and each error has its Kind. It
// stages uploads in hidden temporaries beside their targets; an abandoned one stays until
// its upload is resumed or its directory is removed. It holds one lock while
// names change, so a check and the change that it allows are one step. The lock covers
// the users of one Store: a program that changes the afero.Fs behind it can win a race
// with NoReplace, RenameExclusive or Rename over a directory.
//
// Listings are sorted by name, and a token is a name, so tokens are valid in every
// process. Each page reads all names of the directory; memory is that of one page.
//
// The store keeps the bytes, permission bits and modification time of a file, and no
// digest. A Version consists of size and time: a file that is replaced by one of the same
// size and time keeps its Version.
//
// # A tree as an afero.Fs
//
// Writing follows package pfs: a new or truncated file is an upload, which Close publishes.
// See FromPFS.
//
// # Files
//
//	store, find, kind     an afero.Fs as a store, looking up a name, errors as Kinds
//	list, change, open    listings; changes of names and attributes; files open for reading
//	staged                uploads
//	tree                  any tree as an afero.Fs: names and attributes
//	tree_open, tree_file  opening files of a tree, and open files
//	tree_staging          a file that Close publishes
//	tree_dir              an open directory
package aferofs
