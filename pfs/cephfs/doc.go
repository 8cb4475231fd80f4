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
// A store is one mount, made as one Ceph user. It does without libcephfs's object cache,
// which takes much memory for each mount. The calls of all users go over it. For gives
// everything that is made to an owner from the moment it has its name; only a directory or
// link that is made where the owner may not write belongs to root for a moment. As makes
// the calls themselves as that user, so that the store's own permissions hold.
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
// These are its own and hidden, in these exact forms (pfs.ReservedName):
//
//   - ".pfs-up-TAG-ID" is a staged write, beside its target. TAG is a hash of the
//     target's name, so that an ID belongs to one path and a target's name may have 255
//     bytes. Sweep removes those that were last written to before an age.
//   - ".pfs-up-b-TIME-ID" is a file of a batch until it has its name. Nobody goes on with
//     one: Sweep removes it after ten minutes.
//   - ".pfs-rm-ID" is a directory that RemoveTree was removing.
//
// The extended attribute "user.pfs.digest" of a published file holds the digest, the ID
// of the staged write that it was, and the size and modification time for which both are
// true: a change of the file by another tool makes them void.
//
// Every directory shows its snapshots under ".snap", which no listing mentions and
// nothing changes: there every change answers ReadOnly.
//
// # Staged writes
//
// WriteAt gathers a block of 1 MiB and returns while the block is written; four blocks of a
// file are written at a time. A block that could not be written is kept and written again by
// the next call, and Sync and Commit return only when everything is written. Each write
// holds a shared lock of the temporary, a Commit an exclusive one. So handles of one ID may
// be used at the same time, in one process or several, and nothing is ever written to a
// published file.
//
// Commit sets length, owner, mode, time and mark, syncs the file, renames it, and syncs it
// once more, which waits for the name. CephFS has no rename that refuses to replace. With
// NoReplace the file gets its second name by link, which fails if the name is taken, and
// then loses its first. A service that dies between the two leaves a published file with a
// hidden second name, which the same Commit, or Sweep, removes. A rename of a directory
// holds a lock on the new name meanwhile; only an empty directory that is made at the same
// moment can be replaced.
//
// Clients of CephFS cannot reserve space. A Create of 64 MiB and more asks whether the
// store has so much left.
//
// # Durability
//
// A change that returned nil survives a crash of the cluster. The MDS answers before it has
// written its journal, and when it ends a session it forgets the changes that it had not
// written. It reports that only to handles that were open then, and never for lengths, modes
// and times. So each change of names is made with its directory or file open, and then
// synced; and a file is synced and its length and time are checked before it gets its name.
// A file or directory that is renamed is synced itself, because a sync of its directories
// does not wait for a renaming. A batch is synced as a whole, and each directory once. A
// change that was forgotten answers Unavailable.
//
// When the MDS ends the session of a client that may still write to a file, it sets the time
// of the file to that of its bytes, which makes the digest void. libcephfs keeps that right
// for some seconds after a file was closed. So a published file is closed, and the right
// given up, before Commit and WriteBatch return.
//
// # Memory
//
// All bytes of a store that are on their way, gathered or read ahead are in buffers of fixed
// budgets, 48 MiB together (buffer.go), and once more in libcephfs. Where a budget is used
// up, files are read without reading ahead and written without gathering.
//
// # Sums and quotas
//
// Usage of a large tree is one question: the MDS keeps sums for every directory. They follow
// a change within seconds for each level between. Small trees are walked. Quotas are the
// store's own (ceph.quota.max_bytes, ceph.quota.max_files). Every client compares them with
// these sums, so they are not exact to the byte, and staged writes count. A rename between
// two trees with quotas answers CrossStore, as the store does.
//
// # When the cluster does not answer
//
// No call of libcephfs takes a context, and many wait for ever. So each operation runs
// in a goroutine of its own, and is abandoned when its context is done (Canceled) or when
// the cluster has been silent for Options.Timeout (Unavailable). An abandoned operation
// begins no further step. Bytes are copied through buffers of the package, so that an
// abandoned operation does not touch its caller's memory. A staged write waits until its
// abandoned operations have ended.
//
// A daemon that comes back is found by libcephfs itself. The mount is given up when the
// cluster has evicted it, or when more than a few dozen of its operations are abandoned and
// have had no answer for the timeout: callers that go away all at once end no mount. Its
// connections are aborted, which ends these operations, and the next operation makes another
// mount. That one reclaims the session of the lost mount, so that the cluster lets go at once
// of what the lost mount held. Open files and staged writes go on over the new mount, if the
// file is still the same. An operation that had asked for a change when the mount was lost
// answers Unavailable, since it is not known whether the change was done; all others are
// repeated. If no new mount can be made, for whatever reason, the store is Unavailable.
//
// A change that was abandoned in a call of libcephfs may still be done by the cluster. Until
// that call has ended, no other change of the same store begins if the two have a name in
// common, or if one has a name below or above a name of the other. The new change waits, and
// when that takes Options.Timeout the mount is given up: the cluster ends its session before
// the next mount is there, and then does nothing any more that was asked for over the old
// one. This holds for all changes: of names, modes, times and quotas, of files that are
// edited in place, Create, Commit, Close and Sweep. Abandoned calls of WriteAt are waited for
// by their staged write. It does not hold between two services: a change that one of them
// gave up can be done after the same was asked for through the other.
//
// # Hard links
//
// No hard links are made. With them, tests that also read and wrote the file did not find one of its names after the
// other one was removed or replaced. The cause is not known.
//
// # Files
//
//	fs, operation, snapshot          the tree of one owner, how its operations begin, what .snap refuses
//	options, url, monitors           how it is configured
//	store, mount, cluster,           the mount that is in use and the next one; one session with the cluster
//	store_unsupported
//	call, abandoned, errors          an operation with its deadline, what goes on after it, the errors as Kinds
//	lib                              libcephfs, inode by inode
//	dir, handle, namelocks           an open directory and an open file; one change of a name at a time
//	make, durable, owner             making for an owner; changes of names that survive a crash
//	file, readat, readahead,         reading, and writing in place
//	inplace
//	staged, writebehind, lock,       a staged write, its bytes on their way, who may use it at the same time
//	identity
//	commit, batch, loose, sweep      publishing, alone and together; what was left
//	blocks, buffer                   blocks on their way at once, the memory for them, and its bounds
//	stat, list, entries, mkdir,      the other operations
//	link, attr, remove, rename,
//	copy, usage, quota, space, digest
//	mark                             what is kept with a file
package cephfs
