// Package cephfs is a pfs.FileSystem over a CephFS.
//
// It needs libcephfs, and so is built with the tag "ceph" where libcephfs-dev and
// librados-dev are installed:
//
//	go build -tags ceph ./...
//
// Without the tag the package compiles anywhere, and Open says how to get a program
// that has it.
//
// # One connection
//
// A store is one mount, made as one Ceph user, without libcephfs's object cache, which
// takes 200 MB a mount. Everybody's calls go over it: For gives what is made to an
// owner from the moment it has its name (but for directories and links in a directory
// to which he may not write, which are root's for a moment), and As makes the calls
// themselves as that user, so that the store's own permissions hold. Below makes a tree
// of any directory.
//
// # Links
//
// No symbolic link is followed in any position, whatever is swapped for a link at
// whatever moment. libcephfs follows links in the paths that it is given, so it is given
// none: each operation goes from inode to inode by one name, and then asks for one name
// in the directory that it holds. That is the low-level part of libcephfs, which go-ceph
// does not have (lib.go); go-ceph makes and configures the mounts.
//
// # What it keeps in the store
//
// Names that begin with ".pfs-" are its own and hidden:
//
//   - ".pfs-up-TAG-ID" is a staged write, beside its target. TAG is a hash of the
//     target's name, so that an ID belongs to one path and a target's name may have 255
//     bytes. Sweep removes those that nobody has written to for an age.
//   - ".pfs-up-b-TIME-ID" is a file of a batch until it has its name. Nobody goes on with
//     one: Sweep removes it after ten minutes.
//   - ".pfs-rm-ID" is a directory that RemoveTree was on the way to remove.
//
// The extended attribute "user.pfs.digest" of a published file holds the digest, the ID
// of the staged write that it was, and the size and modification time for which both are
// true: whoever changes the file with another tool makes them void.
//
// Every directory shows its snapshots under ".snap", which no listing mentions and
// nothing changes: there every change answers ReadOnly.
//
// # Staged writes
//
// WriteAt gathers a block of 1 MiB and returns while it is written, four of a file at a
// time; what could not be written is kept and written again by the next call, and Sync
// and Commit return only when everything is. Each write holds a shared lock of the
// temporary, a Commit an exclusive one, so handles of one ID may be used at the same
// time, in one process or several, and nothing is ever written to what was published.
//
// Commit sets length, owner, mode, time and mark, syncs the file, renames it and syncs it
// again, which waits for its name. CephFS has no rename that refuses to replace. With NoReplace the file
// gets its second name by link, which fails if the name is taken and which one of any
// number of callers wins, and then loses its first: who dies between leaves a published
// file and a hidden second name, which the same Commit, or Sweep, removes. Who renames a
// directory holds a lock on its new name meanwhile; only an empty directory that somebody
// makes at the same moment can be replaced.
//
// Clients of CephFS cannot reserve space. A Create of 64 MiB and more asks whether there
// is so much.
//
// # Durability
//
// What returned nil survives a crash of the cluster. The MDS answers before it has written
// its journal, and when it ends a session it forgets what it had not written; it tells only
// handles that were open then, and nobody at all of lengths, modes and times. So each
// change of names is made with its directory or file open and then synced, and a file is
// looked at once more, synced, before it gets its name. What is renamed is synced itself:
// to sync its directories does not wait for a renaming. A batch is synced as a whole, and
// each directory once. What was forgotten answers Unavailable.
//
// # Memory
//
// The bytes of all files of a store that are on their way, gathered or read ahead are in
// buffers of fixed budgets, 48 MiB together (buffer.go), and once more in libcephfs. Who
// finds a budget used up moves his bytes without reading ahead or gathering.
//
// # Sums and quotas
//
// Usage of a large tree is one question: the MDS keeps sums for every directory, which
// follow a change within seconds for each level between. Small trees are walked. Quotas
// are the store's own (ceph.quota.max_bytes, ceph.quota.max_files); every client holds
// them against the same sums, so they are not exact to the byte, and what is staged
// counts. To rename between two trees with quotas answers CrossStore, as the store does.
//
// # When the cluster does not answer
//
// No call of libcephfs takes a context, and many wait for ever. So each operation runs
// in a goroutine of its own, and is abandoned when its context is done (Canceled, or
// Unavailable if it was a deadline) or when the cluster has been silent for
// Options.Timeout (Unavailable). An abandoned operation begins no further step. Bytes
// pass through buffers of the package, so that one that is still on its way touches
// nobody's memory; a staged write on which one is still on its way refuses to go on.
//
// A daemon that comes back is found by libcephfs itself. The mount is given up when the
// cluster has evicted it, or when more than a few dozen operations of it are abandoned:
// its connections are aborted, which ends them, and the next operation makes another
// mount, which takes the place of the lost one in the cluster at once (its session is
// reclaimed), so that nobody waits for what it held. Open files and staged writes go on
// over the new mount, if the file is still the same. An operation that had asked for a
// change when the mount was lost answers Unavailable, since nobody knows whether it was
// done; all others are repeated.
//
// The one call in which a change was abandoned may still be done. Until it has ended, no
// other change of the same store begins that has a name in common with it, or a name
// below or above one of its own: it waits, and when that takes Options.Timeout the mount
// is given up. The cluster has ended its session before the next mount is there, and does
// nothing any more that was asked for over it. This holds for all changes: of names,
// modes, times and quotas, of files that are edited in place, Create, Commit, Close and
// Sweep; what WriteAt of a staged write was given is waited for by the staged write. It
// does not hold between two services: what one of them gave up can be done after it was
// asked for again through another.
package cephfs
