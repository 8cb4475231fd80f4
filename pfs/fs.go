package pfs

import (
	"context"
	"io/fs"
	"time"
)

const (
	// ChunkSize is the largest piece, in bytes, that one request or one
	// uninterruptible step moves, and the leaf size of tree digests.
	ChunkSize = 4 << 20

	// MaxPage is the largest number of entries in one Page.
	MaxPage = 4096

	// MaxDigests is the largest number of entries in one Page with digests.
	MaxDigests = 1024
)

// FileSystem is a tree of directories, files and symbolic links.
//
// The package documentation states the rules common to all methods: paths,
// links, cancellation, concurrency and errors. Only what is particular to a
// method is said below; "answers K" means an error of Kind K.
type FileSystem interface {
	// Open opens the file name for reading. It answers IsDir for a directory.
	//
	// The File shows one version of the content. If the file is replaced after
	// Open, reads go on with the old content where the store can keep it, and
	// else answer Conflict; they never mix two versions.
	Open(ctx context.Context, name Path) (File, error)

	// Create begins a staged write of the file name, or goes on with one (see
	// CreateOptions.ID). The parent must be a directory (else NotExist or
	// NotDir), and name must not be one (IsDir). If name exists as a file or
	// link, Commit replaces it; until then nothing about it changes.
	Create(ctx context.Context, name Path, opts CreateOptions) (Staged, error)

	// Stat describes name itself; a link is not followed.
	Stat(ctx context.Context, name Path) (Info, error)

	// List returns one page of the entries of the directory dir, in the store's
	// own order, without "." and "..". Memory is bounded by the page, however
	// large the directory. It answers NotDir for anything but a directory.
	List(ctx context.Context, dir Path, opts ListOptions) (Page, error)

	// Mkdir makes the directory name with the permission bits of mode. The
	// parent must exist. A directory that is there already is success and keeps
	// its mode, so there is no exclusive Mkdir; anything else of that name
	// answers Exist.
	Mkdir(ctx context.Context, name Path, mode fs.FileMode) error

	// Remove removes the file, link or empty directory name. A directory with
	// entries answers NotEmpty; the root answers Invalid. Temporaries never make
	// a directory count as not empty.
	Remove(ctx context.Context, name Path) error

	// Rename gives the file, link or directory oldName the name newName. A file
	// or link at newName is replaced atomically if oldName is not a directory,
	// and answers NotDir if it is. A directory at newName answers Exist. Moving
	// a directory into itself answers Invalid; oldName equal to newName is
	// success if it exists. Of two hard links of one file, oldName may stay. Moving between stores answers CrossStore.
	Rename(ctx context.Context, oldName, newName Path) error
}

// CreateOptions says how a staged write begins. The zero value begins a new one
// of unknown size.
type CreateOptions struct {
	// ID names the staged write. If the store keeps a suspended or abandoned
	// one of this ID for the same path, Create goes on with it; else it begins
	// one with this ID. Empty means new, with an ID of the store's choosing.
	// See ValidID for its form.
	ID string

	// Reopen refuses to begin: if there is no staged write ID, Create answers
	// Conflict.
	Reopen bool

	// Size is the length in bytes that the file will have, 0 if unknown. The
	// store may refuse at once (NoSpace, Quota) what cannot fit.
	Size int64
}

// Check answers Invalid if the options are none that a staged write of name can begin
// with. Every Create begins with it.
func (o CreateOptions) Check(op string, name Path) error {
	switch {
	case o.ID != "" && !ValidID(o.ID):
		return Errorf(op, name, Invalid, "staged write ID %.80q: it must be 8 to 64 characters of 0-9 and a-z", o.ID)
	case o.ID == "" && o.Reopen:
		return Errorf(op, name, Invalid, "no ID of the staged write to go on with")
	case o.Size < 0:
		return Errorf(op, name, Invalid, "negative size %d", o.Size)
	}
	return nil
}

// ListOptions selects a page of a listing.
type ListOptions struct {
	// Token is Page.Next of the page before, empty for the first page. A token
	// that the store can no longer honour answers Conflict.
	Token string

	// Limit is the largest number of entries wanted; 0 or more than MaxPage
	// means MaxPage.
	Limit int

	// Digests asks for the kept digests of files, in Info.Digest. It may cost the
	// store a Stat of each file, so a page has at most MaxDigests entries.
	Digests bool

	// Attrs asks for ID, Links, UID, GID, ChangeTime, AccessTime, Replication and
	// BlockSize of the entries. Listings may leave them out otherwise.
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

	// Unnamed holds, quoted, the names of entries that cannot be a Path (not
	// UTF-8, for example), so that they are never passed over in silence.
	Unnamed []string

	// Next is the token of the next page, empty at the end. A page may be empty
	// and still have a Next.
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

	// ID is the same for all names of a file, never 0, and differs from that of any
	// other file of the store that exists at the same time. It stays the same when the
	// file is renamed. 0 means that the store has none.
	ID uint64

	// Links is the number of names of the file, 0 if the store does not count them.
	// Listings may leave out Links, Replication and BlockSize.
	Links uint32

	UID, GID uint32 // numbers of the owner and the group where the store has numbers, else 0

	// ChangeTime is when the content or an attribute changed last, AccessTime when
	// the content was read last. They are zero where the store does not keep them.
	ChangeTime, AccessTime time.Time

	Device uint64 // number of a device, as Mknod takes it

	// Replication is the number of copies that the store keeps, BlockSize the length
	// in bytes of its blocks; 0 where the store has no such number for a file.
	Replication int
	BlockSize   int64

	// Target is where a link leads, as it was written.
	Target string

	// Version is an opaque tag that differs whenever the content does; empty in
	// listings of stores that cannot give it cheaply, never in Stat of a file.
	Version string

	// Digest is the tree digest of the content ("algorithm:hex", package
	// pfs/digest) if one is kept and still trusted, which is while size and
	// modification time are those it was made for. Empty means not known: package
	// digest computes it then. Listings may leave it out unless ListOptions.Digests
	// asks for it.
	Digest string
}

// IsDir reports whether i describes a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsLink reports whether i describes a symbolic link.
func (i Info) IsLink() bool { return i.Mode&fs.ModeSymlink != 0 }

// IsRegular reports whether i describes a regular file.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// File is an open file. NewReader makes the readers of package io of it.
type File interface {
	// ReadAt reads into p from offset off, as io.ReaderAt does: n < len(p)
	// always comes with an error, io.EOF at the end of the file. After Close it
	// answers Closed.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// Info describes the version that this File reads.
	Info() Info

	// Close releases the file. A second Close returns nil.
	Close() error
}

// Staged is a file being written. It ends with exactly one of Commit, Suspend or
// Close, and Close always follows: after one of the other two it only releases the
// handle, so that
//
//	w, err := fsys.Create(ctx, name, pfs.CreateOptions{})
//	...
//	defer w.Close(ctx)
//	...
//	info, err := w.Commit(ctx, pfs.CommitOptions{Size: n})
//
// publishes a whole file or nothing. NewWriter makes an io.Writer of it.
type Staged interface {
	// ID names this staged write; Create with it goes on after Suspend.
	ID() string

	// Resumed reports whether Create found bytes staged before under this ID.
	// Which of them are right is found by reading them (LeafDigests).
	Resumed() bool

	// Unit is the length in bytes of the pieces that the store makes durable one
	// by one; the file is a row of them, the last one possibly short. Pieces may
	// be written in any order and in parallel; within one piece the bytes are
	// written in order from its start. Stores with offset writes state
	// ChunkSize.
	Unit() int64

	// WriteAt writes p at offset off, all of it or an error. Writing the same
	// bytes to the same place twice is harmless.
	WriteAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// ReadAt reads back what was staged. Bytes never written read as zeros or
	// end the file.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, err error)

	// Sync returns when all that WriteAt has returned for will survive a crash
	// of the store (whole pieces only; see Unit).
	Sync(ctx context.Context) error

	// Commit publishes the file under its name, replacing what was there, and
	// returns what Stat will say. It answers Integrity if fewer than
	// opts.Size bytes were staged; what was staged beyond is cut off. After a
	// Commit that failed the staged write is still there. Commit of an ID that
	// has already been committed to this name is success, as long as what it
	// published is still there unchanged.
	Commit(ctx context.Context, opts CommitOptions) (Info, error)

	// Suspend ends the use of this handle and keeps what was staged.
	Suspend(ctx context.Context) error

	// Close discards what was staged unless Commit or Suspend came first. It
	// also does so if ctx is done, and then waits for no more than a few seconds:
	// what it cannot discard by then is removed after the retention period.
	Close(ctx context.Context) error
}

// CommitOptions states what is published.
type CommitOptions struct {
	Size    int64       // exact length of the file in bytes
	Mode    fs.FileMode // permission bits; 0 means 0644
	ModTime time.Time   // zero means now

	// Digest is kept with the file as Info.Digest where the store can. The
	// caller has computed it from the bytes that it wrote.
	Digest string

	// NoReplace publishes only if nothing has the name at that moment, and else
	// answers Exist. A store that cannot do it answers Unsupported.
	NoReplace bool
}

// Check answers Invalid if the options are none that name can be published with. Every
// Commit begins with it.
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
