// Package pfs is the contract of the paddle file system: one small interface, [FileSystem].
// Every store, decorator, client and mux implements it; every server and program (HTTP
// service, gateway, mount, command) uses it. The package imports the standard library only.
//
// The conformance suite pfs/pfstest checks implementations against the promises made here.
// pfs/memfs is the reference implementation.
//
// # Paths
//
// A [Path] is absolute, slash-separated and clean. Only [ParsePath] decides what a path is. It
// refuses "..", ".", empty elements, NUL, invalid UTF-8, elements longer than 255 bytes, paths
// longer than 4096, and the few names that stores reserve ([ReservedName]). Everything else is a
// legal name: spaces, "~", "@", a leading "-", any Unicode, ".pfs-config". Names are bytes: no
// case folding, no normalization. Implementations answer [Invalid] to a Path that ParsePath
// refuses.
//
// List hides only what a store has made itself. Any other entry whose name cannot be in a Path
// is listed in [Page.Unnamed], so that copies and comparisons can name what they leave out.
//
// # Links
//
// No store follows a symbolic link, anywhere in a path. Stat describes the link itself. An
// operation that would pass through a link, or open one, fails with [Symlink] and has the link's
// own path in [Error.Path]. One decorator (pfs/linkfs) follows links. It sits above the
// permission check, so that each step of a link is checked again.
//
// # Uploads
//
// [FileSystem.Create] returns an upload, a [Staged]. It has no name until Commit, which checks
// the bytes, makes them durable and renames, in this order. So a reader sees the whole old file
// or the whole new one, on every store, even after a crash. Close without Commit discards the
// staged bytes. Suspend keeps them, and Create with the same [CreateOptions.ID] resumes the
// upload. Abandoned uploads are removed after the store's retention period. Two writers of one
// path never mix: the last Commit wins.
//
// # Open files
//
// [OpenHandle] opens a file for changes in place, where the store can. A [Handle] is bound to
// the file and not to its path: it stays usable after the name was renamed, replaced or removed.
// Changes are visible at once, and durable after Sync. A handle that has expired answers [Stale].
//
// # Consistency
//
// After an operation returned nil, every later operation through the same FileSystem sees its
// effect. Changes of names and attributes (Mkdir, Remove, Rename, Commit, Symlink, SetAttr,
// SetQuota) are as durable as the store's own sync makes them. A listing that runs during
// changes contains every entry that exists the whole time exactly once.
//
// # Concurrency and cancellation
//
// Every method of a FileSystem and of a File may be called from any number of goroutines. An
// upload takes concurrent WriteAt calls for different units.
//
// ctx comes first in every method that can block. An operation called with a context that is
// already done changes nothing and returns an error of Kind [Canceled] that wraps the context's
// error. Since libraries below may take no context, a running operation may first finish its
// chunk (at most [ChunkSize] bytes, or one page of a listing); then it ends with the same error.
// The caller's own deadline never causes [Unavailable], because callers retry that.
//
// # Errors
//
// Every error is an [*Error] or wraps one: Op, Path, [Kind] and cause. Kinds are a closed list
// and cross the wire intact. They are errors themselves, so that errors.Is(err, pfs.NotExist)
// works; the sentinels of io/fs work too. A store that cannot be reached answers [Unavailable],
// never [NotExist]. Bytes that fail a check are never returned as data: the answer is
// [Integrity].
//
// # Optional capabilities
//
// An operation that only some stores have is an interface of one method (capability.go, handle.go,
// attr.go). [CapabilitiesOf] returns what can be done below a path, without trying it.
//
// Callers use a function of this package. It asserts the interface, falls back where an honest
// fallback exists, and else answers [Unsupported]. The function has the name of the method,
// except for [MakeLink], [SpaceOf], [UsageOf], [CopyInside] and [LocateBlocks]. [Digester],
// [LeafDigester] and [BatchCopier] have no function; callers assert them.
//
// A decorator implements all capabilities and answers Unsupported where the file system below
// does: having the method promises nothing. The exceptions are [BatchReader], [RangeReader] and
// [BatchCopier], which are for clients, and those of owner.go, which only stores have.
//
// # Files
//
//	fs, path, reserved, errors       FileSystem, File and Staged; paths; errors and their Kinds
//	handle, attr                     open files that are changed in place; attributes, links, special files
//	capability, capabilities, owner  what only some stores can do, and how a store reports it
//	readbatch, copybatch             many small files at once
//	readranges                       many ranges of files at once
//	layer, layerfile, layerstaged,   decorators: every operation passes one function
//	layerbatch, mux
//	tree, glob, globpattern, stream  walks, patterns, readers and writers over any FileSystem
//	check, guard                     checks and panics, for implementations
package pfs
