// Package cachefs caches the contents of a file system's files on local disks. It is for mounts: a
// file that is read again is read from the disk, and a file that is cached whole can be given to the
// kernel (File.Local). It needs Linux.
//
// # What is cached
//
// The cache holds blocks of 4 MiB of regular files. A file of the cache belongs to one version of
// one path: its name is a hash of the store's identity, the path, Info.Version, the size and the
// modification time. So a changed file is another file of the cache, and old and new bytes never
// mix. Names, attributes, listings and errors are never cached, and writes pass unchanged. A
// version that is younger than Options.Settle is not cached, because some stores' clocks cannot
// tell it from the next one.
//
// # On disk
//
// Each directory of Options.Dirs gets a directory v2-UID with mode 0700. Below it, "public" holds
// files that all users may read (Options.Public), and "user-NAME" those of one account. Directories of
// other versions are removed when no process uses them. A file of the cache is sparse:
//
//	KEY.data   the content, at its own offsets
//	KEY.index  a header, and 16 bytes for each block: its XXH3-128, or zeros if it is missing
//
// A file of one block has an extended attribute in place of the index where the disk can do that.
//
// The bytes of a block are written before its checksum, so the end of the process at any point
// leaves no wrong block. After a restart of the system (the header has the boot ID), each block is
// compared with its checksum before it is used. The blocks' checksums give the tree digest: a file
// whose digest the store knows is whole only if both agree. All blocks are checked once a day
// (scrub.go).
//
// Several processes of one Unix user share a directory. An open file has a shared lock, and only
// a file without locks is evicted, by unlink.
//
// # Failures
//
// A disk that is full, read-only, damaged or gone costs only speed: reads then pass to the store,
// and the log has one line. An error of the store is returned unchanged, and the next read asks the
// store again.
//
// # Files
//
//	cachefs, file, entry      the file system; an open file; a file of the cache in memory
//	dir, index, system_linux  a cache directory; the files on disk; system calls
//	evict, scrub              eviction; the daily check
//	fetch, batch              reading a block from the store; many small files at once
//	queue, latency, memory    the order of requests; slow requests; the budget
//	ahead, folder             reading ahead in a file, and in a directory
//	warm                      fetching files before a program reads them
package cachefs
