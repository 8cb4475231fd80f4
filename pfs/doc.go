// Package pfs is the contract of the paddle file system: one small interface,
// [FileSystem], that every store, decorator, client and mux implements and
// every server and program (HTTP service, gateway, mount, command) is written against.
// It imports the standard library only.
//
// The conformance suite pfs/pfstest holds implementations to the promises made
// here; one is done when the suite passes on it. pfs/memfs is the
// reference implementation.
//
// # Paths
//
// A [Path] is absolute, slash-separated and clean. [ParsePath] is the one place
// that refuses what cannot be a path: "..", ".", empty elements, NUL, invalid
// UTF-8, elements longer than 255 bytes and paths longer than 4096, and names of
// the few exact forms that stores keep for themselves ([ReservedName]). Everything
// else is a legal name: spaces, "~", "@", a leading "-", any Unicode, ".pfs-config".
// Names are bytes: no case folding, no normalization. An implementation answers
// [Invalid] to a Path that ParsePath would have refused.
//
// List hides only what a store has made itself. Any other entry whose name cannot
// be in a Path is listed in [Page.Unnamed], so that copies and comparisons can
// name what they leave out.
//
// # Links
//
// No store follows a symbolic link, anywhere in a path. Stat describes the link
// itself. An operation that would have to pass through a link, or open one, fails
// with [Symlink] and the link's own path in [Error.Path]. Following is the work of
// one decorator (pfs/linkfs) that sits above the permission check, so that each
// step of a link is checked again.
//
// # Staged writes
//
// [FileSystem.Create] returns a [Staged] write. Nothing of it can be seen under
// any name until Commit, which checks, makes durable and renames, in this order:
// a reader sees the whole old file or the whole new one, on every store, whatever
// dies in between. Close without Commit discards; Suspend keeps the staged bytes,
// so that Create with the same [CreateOptions.ID] resumes the upload. Abandoned
// uploads are removed after the store's retention period. Two writers of one
// path never mix: the last Commit wins whole.
//
// # Open files
//
// [OpenHandle] opens a file for changes in place, where the store can. A [Handle] is bound
// to the file and not to its path: it stays usable after the name was renamed, replaced or
// removed. Changes are visible at once, and durable after Sync. A handle that cannot be
// continued answers [Stale].
//
// # Consistency
//
// After an operation returned nil, every later operation through the same
// FileSystem sees its effect. The effect of a change of names or attributes (Mkdir,
// Remove, Rename, Commit, Symlink, SetAttr, SetQuota) survives a crash of the
// store's machine to the degree that the store's own sync gives. A listing that runs
// beside changes contains every entry that was there the whole time exactly once.
//
// # Concurrency and cancellation
//
// Every method of a FileSystem and of a File may be called from any number of
// goroutines. A Staged write takes concurrent WriteAt calls for different units.
// ctx comes first in whatever can block. Libraries below may take no context, so
// what is promised is this: an operation called with a context that is already
// done changes nothing and returns an error of Kind [Canceled] that wraps the
// context's error; one that runs ends no later than the chunk in progress (at
// most [ChunkSize] bytes, or one page of a listing), and if it ends for that
// reason with the same error. A deadline of the caller's that passes is no
// [Unavailable], which callers ask again for.
//
// # Errors
//
// Every error is an [*Error] or wraps one: Op, Path, [Kind] and cause. Kinds are a
// closed list, cross the wire intact, and are themselves errors, so
// errors.Is(err, pfs.NotExist) reads as it should; the sentinels of io/fs work
// too. A store that cannot be reached answers [Unavailable], never [NotExist].
// Bytes that fail a check are never returned as data: the answer is [Integrity].
//
// # Optional capabilities
//
// What not every store can do is an interface of one method (capability.go, handle.go,
// attr.go). [CapabilitiesOf] returns what can be done below a path, without trying it.
// Callers call a function of this package, which asserts the interface, falls back
// where an honest fallback exists, and else answers [Unsupported]. It has the name of
// the method, apart from [MakeLink], [SpaceOf], [UsageOf], [CopyInside] and
// [LocateBlocks]; where there is no such function ([Digester], [LeafDigester],
// [BatchCopier]) they assert it. A decorator implements all of them, except for
// [BatchReader] and [BatchCopier], which are for clients, and answers Unsupported where
// the file system below does, so having the method is not yet a promise: the answer is.
// Only what chooses a user of the store (owner.go) is asked of stores alone.
//
// # Files
//
//	fs, path, reserved, errors       FileSystem, File and Staged; paths; errors and their Kinds
//	handle, attr                     open files that are changed in place; attributes, links, special files
//	capability, capabilities, owner  what not every store can do, and how a store says so
//	readbatch, copybatch             many small files at once
//	layer, layerfile, layerstaged,   decorators: every operation passes one function
//	layerbatch, mux
//	tree, glob, globpattern, stream  walks, patterns, readers and writers over any FileSystem
//	check, guard                     checks and panics, for implementations
package pfs
