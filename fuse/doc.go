// Package fuse shows a pfs.FileSystem as a file system of this machine: a FUSE mount of the Linux
// kernel.
//
// # Names and nodes
//
// The kernel knows files as nodes; a pfs.FileSystem knows paths. The package keeps a tree of the
// nodes that the kernel has looked up (node_linux.go): their names, and the identity of the file
// that each name led to. It holds no other metadata, since the kernel caches attributes itself. A
// node whose name now leads to another file answers ESTALE, and the kernel looks the name up again.
// Inode numbers are Info.ID, or else a hash of the path, so they survive a remount.
//
// # Consistency
//
// The kernel caches names and attributes for Options.Timeout, and pages of a file until an open
// finds another version. So a mount sees the changes of others after that time at the latest, and an
// open sees all data that was closed before. Changes through the mount itself are visible at once: a
// write reaches the file system before it returns, or is written behind (behind_linux.go), and then
// every operation that depends on it waits. close(2) also waits, and flushes a handle that is a
// Flusher. An open file without a handle (pfs.File) reads one version: while it is open, another
// version is another node, with its own pages.
//
// # Errors
//
// A store that cannot be reached is EIO, never ENOENT and never an empty listing. Each Kind has one
// errno (errno_linux.go). A signal that ends a program cancels its request; other signals do not,
// because programs do not expect EINTR from a file.
//
// # Replacement
//
// With a Broker, another server can take over from a server that has died (journal_linux.go,
// resume_linux.go). The journal is written before the kernel gets an answer.
//
// # Local files
//
// An open file that implements LocalFile may have its whole content in a file of this machine. Reads
// then go to this file, without a call to the store. If the store's own files are files of this
// machine (StoreFile), the kernel reads and writes them itself, and caches no pages of the mount.
//
// # Files
//
//	fuse, mount_linux, mount_other              the options; mounts of this machine; systems without FUSE
//	connection_linux, device_linux, call_linux  the mount in the kernel; its requests; the context of one
//	server_linux, node_linux, table_linux       the server that answers requests; the nodes that the kernel knows; their tables
//	names_linux, attr_linux, dir_linux          operations on names; attributes; listings
//	file_linux, behind_linux, retries_linux     open files; bytes written behind; opens that the kernel repeats
//	local_linux, warm_linux                     files that the kernel reads itself; fetching ahead
//	errno_linux, observe_linux                  errors as errnos; calls of Options.Observe
//	journal_linux, resume_linux                 the state for a replacement of the server; its use by the replacement
package fuse
