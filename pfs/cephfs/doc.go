// Package cephfs is a pfs.FileSystem over a CephFS.
//
// It needs libcephfs. So it is built with the tag "ceph", on machines with libcephfs-dev and
// librados-dev:
//
//	go build -tags ceph ./...
//
// Without the tag the package compiles anywhere, and Open returns an error that says how
// to build a program with it.
//
// # One connection
//
// A store is one mount, made as one Ceph user, which serves all users. It does not use
// libcephfs's object cache, which takes much memory per mount. WithOwner gives new files to an
// owner from the moment they have a name; only a directory or link that is made where the
// owner may not write belongs to root for a moment. Impersonate makes the calls as that user, so
// that the store's own permissions apply.
//
// # Links
//
// No symbolic link is followed in any position, even if a name is replaced by a link at
// any moment. libcephfs follows links in paths, so the package passes it no paths: each
// operation goes from inode to inode by one name, and then acts on one name in the directory
// that it holds. This uses the low-level API of libcephfs, which go-ceph lacks (lib.go);
// go-ceph makes and configures the mounts.
//
// # In the store
//
// Entries of these exact forms are its own, and hidden (pfs.ReservedName):
//
//   - ".pfs-up-TAG-ID" is an upload, beside its target. TAG is a hash of the target's
//     name, so that an ID belongs to one path and a target's name may have 255 bytes.
//     Sweep removes abandoned ones.
//   - ".pfs-up-b-TIME-ID" is a file of a batch until it has its name. It is never resumed:
//     Sweep removes it after ten minutes.
//   - ".pfs-rm-ID" is a directory that RemoveTree has not finished removing.
//
// The extended attribute "user.pfs.digest" of a published file holds the digest, the ID
// of the upload, and the size and modification time for which both are valid: a change of
// the file by another tool makes them void.
//
// Every directory shows its snapshots under ".snap", which no listing includes. Every
// change there returns ReadOnly.
//
// # Uploads
//
// WriteAt gathers a block of 1 MiB and returns while the block is written; four blocks of a
// file are written at a time. A block that could not be written is kept and written again by
// the next call, and Sync and Commit return only when everything is written. Each write
// holds a shared lock of the temporary, a Commit an exclusive one. So handles of one ID may
// be used at the same time, in one process or several, and nothing is ever written to a
// published file.
//
// Commit sets length, owner, mode, time and stored digest, syncs the file, renames it, and
// syncs it once more, which waits for the name. CephFS has no rename that refuses to replace.
// With NoReplace the file gets its second name by link, which fails if the name is taken, and
// then loses its first. A service that dies between the two leaves a published file with a
// hidden second name, which the same Commit, or Sweep, removes. A rename of a directory
// holds a lock on the new name meanwhile; it can only replace an empty directory that is made
// at the same moment.
//
// Clients of CephFS cannot reserve space. A Create of 64 MiB and more checks that the store
// has that much left.
//
// # Durability
//
// A change that returned nil survives a crash of the cluster. The MDS answers before it has
// written its journal, and when it ends a session it forgets the changes that it had not
// written. It reports that only to handles that were open then, and never for lengths, modes
// and times. So each change of names is made with its directory or file open, and then
// synced; and a file is synced and its length and time are checked before it gets its name.
// A file or directory that is renamed is synced itself, because a sync of its directories
// does not wait for a rename. A batch is synced as a whole, and each directory once. A
// change that was forgotten returns Unavailable.
//
// When the MDS ends the session of a client that may still write to a file, it sets the time
// of the file to that of its bytes, which invalidates the digest. libcephfs keeps the right to
// write for some seconds after a file was closed. So Commit and WriteBatch close a published
// file and give this right up before they return.
//
// # Memory
//
// All bytes of a store that are in transit, gathered or read ahead are in buffers with fixed
// budgets, 48 MiB together (buffer.go), and once more in libcephfs. When a budget is used
// up, files are read without read-ahead and written without gathering.
//
// # Totals and quotas
//
// Usage of a large tree is one request: the MDS keeps totals for every directory. They lag by
// some seconds for each level between. Small trees are walked. Quotas are the store's own
// (ceph.quota.max_bytes, ceph.quota.max_files). Every client compares them with these totals,
// so they are not exact to the byte, and uploads count. A rename between two trees with
// quotas returns CrossStore, as the store does.
//
// # When the cluster does not answer
//
// No call of libcephfs takes a context, and many block indefinitely. So each operation runs in
// its own goroutine, and is abandoned when its context is done (Canceled) or when the cluster
// has been silent for Options.Timeout (Unavailable). An abandoned operation begins no further
// step. Bytes are copied through buffers of the package, so that an abandoned operation does
// not touch its caller's memory. An upload waits until its abandoned operations have ended.
//
// libcephfs itself reconnects to a daemon that comes back. The mount is given up when the
// cluster has evicted it, or when more than a few dozen of its operations are abandoned and
// have had no answer for the timeout: many callers that go away at once do not end a mount. Its
// connections are aborted, which ends these operations, and the next operation makes another
// mount. The new mount reclaims the session of the lost one, so that the cluster at once
// releases the locks and capabilities of the lost mount. Open files and uploads continue over
// the new mount, if the file is still the same. An operation that had requested a change when
// the mount was lost returns Unavailable, since it is unknown whether the change was executed;
// all others are repeated. If no new mount can be made, for whatever reason, the store is
// Unavailable.
//
// The cluster may still execute a change that was abandoned in a call of libcephfs. Until that
// call has ended, no other change of the same store begins if the two have a name in common,
// or if one has a name below or above a name of the other. The new change waits; after
// Options.Timeout the mount is given up. The cluster ends its session before the next mount
// exists, and then executes no more changes of the old one. This holds for all changes: of
// names, modes, times and quotas, of files that are edited in place, Create, Commit, Close and
// Sweep. An upload waits for its abandoned calls of WriteAt. It does not hold between two
// services: a change that one of them abandoned can be executed after the same change was
// requested through the other.
//
// # Hard links
//
// A file may have several names. After a rename over one of them, the libcephfs that made the
// change answers for a while that the others do not exist. So such a rename takes its own
// session, which costs about 50 ms. So does the move of a directory into another one, because
// libcephfs would continue to count it in the links of the old parent. If another client makes
// a second name at the same moment, this store may miss it until the cluster reports another
// change of that directory.
//
// # Files
//
//	fs, operation, snapshot          the tree of one owner, the beginning of its operations, snapshots
//	options, url, monitors           configuration
//	store, mount, cluster,           the current mount and the next one; one session with the cluster
//	store_unsupported
//	call, abandoned, errors          an operation with its deadline, abandoned operations, errors as Kinds
//	lib                              libcephfs, inode by inode
//	dir, handle, namelocks           an open directory and an open file; one change of a name at a time
//	make, durable, owner             making files for an owner; durable changes of names
//	file, readat, readahead,         reading, and writing in place
//	inplace
//	staged, writebehind, lock        an upload, its bytes in transit, its concurrent use
//	commit, batch, sweep             publishing one file or a batch; leftovers
//	blocks, buffer                   concurrent blocks, the memory for them, and its limits
//	stat, list, entries, mkdir,      the other operations
//	link, attr, remove, rename,
//	copy, usage, quota, space, digest
//	mark                             the stored digest of a file
package cephfs
