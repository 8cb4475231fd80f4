package pfs

import (
	"context"
	"io/fs"
	"time"
)

const (
	// ChunkSize is the largest number of bytes that one request or one uninterruptible step
	// moves, and the leaf size of tree digests.
	ChunkSize = 4 << 20

	// MaxPage is the largest number of entries in one Page.
	MaxPage = 4096

	// MaxDigests is the largest number of entries in one Page with digests.
	MaxDigests = 1024
)

// FileSystem is a tree of directories, files and symbolic links.
//
// The package documentation states the rules for all methods: paths, links, cancellation,
// concurrency and errors. "Answers K" means that the method returns an error of Kind K.
type FileSystem interface {
	// Open opens the file name for reading. It answers IsDir for a directory.
	//
	// The File shows one version of the content. If the file is replaced after Open, reads
	// return the old content where the store can keep it, and else answer Conflict; they
	// never mix two versions.
	Open(ctx context.Context, name Path) (File, error)

	// Create begins or resumes (see CreateOptions.ID) an upload of the file name. The parent
	// must be a directory (else NotExist or NotDir), and name must not be one (IsDir). If
	// name exists as a file or link, Commit replaces it; until then it does not change.
	Create(ctx context.Context, name Path, opts CreateOptions) (Staged, error)

	// Stat describes name itself; a link is not followed.
	Stat(ctx context.Context, name Path) (Info, error)

	// List returns one page of the entries of the directory dir, in the store's own order,
	// without "." and "..". It needs memory for one page only. It answers NotDir for
	// anything but a directory.
	List(ctx context.Context, dir Path, opts ListOptions) (Page, error)

	// Mkdir makes the directory name with the permission bits of mode. The parent must
	// exist. An existing directory is success and keeps its mode, so Mkdir cannot be
	// exclusive; anything else of that name answers Exist.
	Mkdir(ctx context.Context, name Path, mode fs.FileMode) error

	// Remove removes the file, link or empty directory name. A directory with entries
	// answers NotEmpty; the root answers Invalid. A directory that holds only temporaries is
	// empty.
	Remove(ctx context.Context, name Path) error

	// Rename gives the file, link or directory oldName the name newName. A file or link at
	// newName is replaced atomically if oldName is not a directory, and answers NotDir if it
	// is. A directory at newName answers Exist. Moving a directory into itself answers
	// Invalid, moving between stores CrossStore. If the names are equal, Rename succeeds if
	// oldName exists. If they are hard links of one file, oldName may stay.
	Rename(ctx context.Context, oldName, newName Path) error
}

// CreateOptions are the options of Create. The zero value begins a new upload of unknown size.
type CreateOptions struct {
	// ID names the upload. Create resumes an upload of this ID for the same path if the
	// store keeps one, and else begins one. If ID is empty, the store begins one and chooses
	// the ID. See ValidID for its form.
	ID string

	// Reopen only resumes: Create answers Conflict if there is no upload of this ID.
	Reopen bool

	// Size is the expected length in bytes, 0 if unknown. The store may refuse at once
	// (NoSpace, Quota) what cannot fit.
	Size int64
}

// Check answers Invalid if an upload of name cannot begin with these options. Every Create
// begins with it.
func (o CreateOptions) Check(op string, name Path) error {
	switch {
	case o.ID != "" && !ValidID(o.ID):
		return Errorf(op, name, Invalid, "upload ID %.80q: it must be 8 to 64 characters of 0-9 and a-z", o.ID)
	case o.ID == "" && o.Reopen:
		return Errorf(op, name, Invalid, "no ID of the upload to resume")
	case o.Size < 0:
		return Errorf(op, name, Invalid, "negative size %d", o.Size)
	}
	return nil
}

// ListOptions selects a page of a listing.
type ListOptions struct {
	// Token is Page.Next of the page before, empty for the first page. A token that is no
	// longer valid answers Conflict.
	Token string

	// Limit is the largest number of entries wanted; 0 or more than MaxPage
	// means MaxPage.
	Limit int

	// Digests asks for the stored digests of files, in Info.Digest. It may cost the store a
	// Stat of each file, so a page has at most MaxDigests entries.
	Digests bool

	// Attrs asks for ID, Links, UID, GID, ChangeTime, AccessTime, Replication and BlockSize
	// of the entries. Listings may leave them out otherwise.
	Attrs bool
}

// Max returns the largest number of entries that the page may have.
func (o ListOptions) Max() int {
	most := MaxPage
	if o.Digests {
		most = MaxDigests
	}
	if o.Limit <= 0 || o.Limit > most {
		return most
	}
	return o.Limit
}

// Page is a part of a directory's entries.
type Page struct {
	Entries []Info

	// Unnamed holds, quoted, the names of entries that cannot be in a Path (not UTF-8, for
	// example), so that callers can report them.
	Unnamed []string

	// Next is the token of the next page, empty at the end. Even an empty page may have one.
	Next string
}

// Info describes one file, directory or link.
type Info struct {
	Name    string      // last element of the path
	Size    int64       // length in bytes; 0 for directories
	Mode    fs.FileMode // type and permission bits
	ModTime time.Time

	Owner string // as the store names it; empty if it has none
	Group string

	// ID identifies a file, whatever its name: all its names share it, a rename keeps it,
	// and no two files that exist at the same time have the same. 0 means that the store has
	// no IDs.
	ID uint64

	// Links is the number of names of the file, 0 if the store does not count them.
	// Listings may leave out Links, Replication and BlockSize.
	Links uint32

	UID, GID uint32 // numbers of the owner and the group, 0 if the store has none

	// ChangeTime is when the content or an attribute changed last, AccessTime when the
	// content was read last; zero where the store does not keep them.
	ChangeTime, AccessTime time.Time

	Device uint64 // number of a device, as Mknod takes it

	// Replication is the number of copies that the store keeps, BlockSize the length of its
	// blocks in bytes; 0 where the store has no such number for a file.
	Replication int
	BlockSize   int64

	// Target is where a link leads, unchanged.
	Target string

	// Version is an opaque tag that differs whenever the content does. Stat of a file always
	// sets it; listings leave it empty where it is expensive.
	Version string

	// Digest is the stored tree digest of the content ("algorithm:hex"). It is valid while
	// size and modification time are those that it was computed for. If it is empty,
	// package pfs/digest can compute it. Listings may leave it out unless
	// ListOptions.Digests asks for it.
	Digest string
}

// IsDir reports whether i describes a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsLink reports whether i describes a symbolic link.
func (i Info) IsLink() bool { return i.Mode&fs.ModeSymlink != 0 }

// IsRegular reports whether i describes a regular file.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// File is an open file. NewReader makes it a reader of package io.
type File interface {
	// ReadAt reads into p from offset off, as io.ReaderAt does: n < len(p) always comes with
	// an error, io.EOF at the end of the file. After Close it answers Closed.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// Info describes the version that this File reads.
	Info() Info

	// Close releases the file. A second Close returns nil.
	Close() error
}

// Staged is an upload: a file that is being written. It ends with exactly one of Commit, Suspend
// or Close. Call Close in any case: after one of the other two it only releases resources, so
// that
//
//	w, err := fsys.Create(ctx, name, pfs.CreateOptions{})
//	...
//	defer w.Close(ctx)
//	...
//	info, err := w.Commit(ctx, pfs.CommitOptions{Size: n})
//
// publishes a whole file or nothing.
type Staged interface {
	// ID names this upload. Create with it resumes the upload after Suspend.
	ID() string

	// Resumed reports whether Create found bytes staged before under this ID. Read them back
	// (LeafDigests) to find out which are right.
	Resumed() bool

	// Unit is the length in bytes that the store makes durable at a time. The file is a
	// sequence of units, and the last one may be shorter. Units may be written in any order
	// and in parallel; the bytes of one unit are written in order from its start. Stores
	// with writes at any offset return ChunkSize.
	Unit() int64

	// WriteAt writes p at offset off, all of it or an error. Writing the same
	// bytes to the same place twice is harmless.
	WriteAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// ReadAt reads staged bytes. Bytes never written read as zeros or end the file.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// Sync returns when every whole unit that was written survives a crash of the store.
	Sync(ctx context.Context) error

	// Commit publishes the file under its name, replacing what was there, and returns its
	// Info. It cuts off staged bytes beyond opts.Size, and answers Integrity if fewer were
	// staged. After a failed Commit the upload still exists. A second Commit of an ID to the
	// same name succeeds if the published file is still there unchanged.
	Commit(ctx context.Context, opts CommitOptions) (Info, error)

	// Suspend releases the upload and keeps its staged bytes.
	Suspend(ctx context.Context) error

	// Close discards the staged bytes unless Commit or Suspend came first. It also does so
	// if ctx is done, but then waits at most a few seconds: what it cannot discard in this
	// time is removed after the retention period.
	Close(ctx context.Context) error
}

// CommitOptions are the options of Commit.
type CommitOptions struct {
	Size    int64       // exact length of the file in bytes
	Mode    fs.FileMode // permission bits; 0 means 0644
	ModTime time.Time   // zero means now

	// Digest is stored with the file as Info.Digest where the store can. The caller has
	// computed it from the bytes that it wrote.
	Digest string

	// NoReplace answers Exist if something has the name. A store that cannot do this
	// atomically answers Unsupported.
	NoReplace bool
}

// Check answers Invalid if name cannot be published with these options. Every Commit begins
// with it.
func (o CommitOptions) Check(op string, name Path) error {
	if o.Size < 0 {
		return Errorf(op, name, Invalid, "negative size %d", o.Size)
	}
	return nil
}

// Perm returns the permission bits to publish with.
func (o CommitOptions) Perm() fs.FileMode {
	if p := o.Mode.Perm(); p != 0 {
		return p
	}
	return 0o644
}
