// Package localfs is a pfs.FileSystem over a directory of a local disk: plain
// files under their own names, so that an administrator can use any tool on them.
//
// # Links
//
// As the store of a service (the zero Options) it follows no symbolic link in any
// position, even if a name is replaced by a link at any moment. On Linux the kernel
// ensures this: openat2 reaches the directory (where that call is missing or
// filtered, one openat per element does), and every operation then acts on one
// name in that open directory. Elsewhere each element goes through os.Root and is
// compared before and after the open; there a rename between two directories is as
// safe as os.Root makes it: it cannot leave the root.
//
// As the local side of a command (Options.FollowLinks) the operating system follows
// links as usual, except for the names that Stat, List, Remove, Rename and Commit act
// on. Quotas are then ignored.
//
// # On disk
//
// Entries of these exact forms are its own, and hidden. Other entries with such a name
// (pfs.ReservedName), a directory ".pfs-quota" for example, are listed in Page.Unnamed:
//
//   - ".pfs-up-TAG-ID" is an upload, beside its target. TAG is a hash of the
//     target's name, so that an ID belongs to one path and a target's name may
//     have 255 bytes. Sweep removes abandoned ones.
//   - ".pfs-quota" is the quota of its directory.
//   - ".pfs-rm-ID" is a directory that RemoveTree has not finished removing.
//
// The extended attribute "user.pfs.digest" of a published file holds the digest,
// the ID of the upload, and the size and modification time for which both are valid:
// a change of the file by another tool makes them void. On a file system without
// extended attributes Info.Digest is missing. Another process that repeats a Commit
// then recognises the published file by CommitOptions.Digest, or else by its time
// and ModTime, or else not at all.
//
// # Quotas
//
// The totals of a directory with a quota are kept in memory and counted on first use.
// They are exact if only this FS makes changes: an operation holds the name and its file
// while it checks the file that it replaces or removes, changes it and counts the change. The
// bytes are written to the disk before that, so no other operation waits for a sync. Changes by
// other processes appear with the next count, which starts at once if the totals become negative
// or a directory was moved into or out of the tree.
//
// Uploads count with their bytes, and as one file each against the limit on files,
// though Usage does not count them as files. An upload that will replace a file needs no
// quota for the bytes of that file, so that a full tree can be overwritten; but all uploads
// together must fit the limits. So a tree holds little more than twice its limits on disk.
//
// # Durability
//
// Commit writes, syncs the file, renames it and syncs the directory. Mkdir, Remove and
// Rename sync the directory. Staged bytes are flushed to the disk as they arrive, so that
// the sync at the end is short: for 2 GiB it took 0.01 s instead of 0.5 s, and the
// whole upload 0.5 s instead of 0.7 s. Create refuses a file that does not fit on the disk
// and reserves nothing, so an upload that is never sent does not block others. Aligned blocks of
// 64 KiB that are all zeros become holes. WriteBatch syncs once for all files of a batch
// (syncfs): 10,000 files of 4 KiB took 0.7 s. The bare system calls took 0.5 s with one
// syncfs per batch, and 1.0 s to 1.4 s with one fdatasync per file, 32 at once.
//
// If a sync fails, the kernel may have dropped the bytes and would let the next
// sync succeed. So the upload is discarded. It survives every other failure of a Commit.
//
// # Depth
//
// The cost of an operation grows linearly with its path. Operations that change the totals
// of a quota descend from the root and look for a quota in each directory on the way, which
// takes three system calls per level; the others take one call. Directories that were
// moved into each other can be deeper than any Path: they are counted, swept and removed
// too, with a bounded number of names in memory and a few dozen descriptors.
//
// # Two handles of one ID
//
// Handles of one upload may write at the same time, in one process or several. Each write
// holds a shared file lock, a Commit an exclusive one. A handle whose upload was committed
// or removed through another handle returns Conflict (its Commit succeeds if the other
// handle committed).
//
// # Files
//
//	fs, place                            the store; the way down to a directory, and its quotas
//	dir, dir_*, entries_linux, walk      the system calls on names: in open directories, or by paths; trees
//	stat*, mark, xattr_unix, owner       attributes of files; the stored digest
//	open, list, access, attr,            one operation each, or two
//	mkdir, rename, remove, handle,
//	xattr, capabilities, link, digest,
//	usage, space, copy, sweep
//	create, staged, lock, commit         uploads, from the temporary to its new name
//	sparse                               holes, where zeros are written or copied
//	batch                                many small files with one sync
//	quota, tree, sums                    directories with a quota, and the totals of their trees
//	claim, move, slots                   the claims of operations on quotas, and the names that they hold
//	errors, system_*, bytes_linux        differences between systems
package localfs
