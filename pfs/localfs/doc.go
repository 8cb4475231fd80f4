// Package localfs is a pfs.FileSystem over a directory of a local disk: plain
// files under their own names, so that an administrator can use any tool on them.
//
// # Links
//
// As the store of a service (the zero Options) it follows no symbolic link in any
// position, whatever is swapped for a link at whatever moment. On Linux the kernel
// sees to it: openat2 reaches the directory (where that call is missing or
// filtered, one openat an element does), and every operation is then made on one
// name in that open directory. Elsewhere each element goes through os.Root and is
// compared before and after it was opened; there a rename between two directories
// is as safe as os.Root makes it, which is not to leave the root.
//
// As the local side of a command (Options.FollowLinks) links are followed by the
// operating system as usual, but for the ones that Stat, List, Remove, Rename and
// Commit are about. Quotas are then not looked for.
//
// # What it keeps on disk
//
// Entries of these exact forms are its own, and hidden. Another entry of such a name
// (pfs.ReservedName), a directory ".pfs-quota" for example, is listed in Page.Unnamed:
//
//   - ".pfs-up-TAG-ID" is a staged write, beside its target. TAG is a hash of the
//     target's name, so that an ID belongs to one path and a target's name may
//     have 255 bytes. Sweep removes those last written to before an age.
//   - ".pfs-quota" is the quota of the directory that it is in.
//   - ".pfs-rm-ID" is a directory that RemoveTree was on the way to remove.
//
// The extended attribute "user.pfs.digest" of a published file holds the digest,
// the ID of the staged write that it was, and the size and modification time for
// which both are true: a change of the file by another tool makes them void.
// A file system without extended attributes loses Info.Digest; a Commit that is
// repeated by another process is then recognised by comparing the published
// file's bytes with CommitOptions.Digest, or else its time with ModTime, or else
// not at all.
//
// # Quotas
//
// The sums of a directory with a quota are kept in memory, counted at first need, and
// exact as far as this FS makes the changes: an operation holds the name, and the file
// that has it, while it looks at what it replaces or removes, does so and books it. Bytes
// go to the disk before that, so nobody waits for a sync. What other processes change
// comes in with the next count, which is at once if the sums become negative or a
// directory was moved into or out of the tree.
//
// Staged writes count with their bytes, and against the limit on files as one file each,
// though Usage does not call them files. One that will replace a file takes no room that
// the file has, so that a full tree can be written over; but all staged writes together
// may be no more than the limits. So a tree holds little more than twice its limits on the disk.
//
// # Durability
//
// Commit writes, syncs the file, renames and syncs the directory, and Mkdir,
// Remove and Rename sync the directory. Staged bytes start on their way to the disk
// as they come, so that the sync at the end is short: for 2 GiB it took 0.01 s
// instead of 0.5 s and the whole 0.5 s instead of 0.7 s. Create refuses a file for which
// the disk has no room, and reserves nothing: an upload that is never sent keeps nobody
// out. Aligned blocks of 64 KiB that are all zeros become holes. WriteBatch syncs once for all files of a batch (syncfs): 10,000
// files of 4 KiB took 0.7 s; of the bare system calls, with one syncfs a batch 0.5 s,
// with one fdatasync a file, 32 at once, 1.0 s to 1.4 s.
//
// If a sync fails, the kernel may have dropped the bytes and would let the next
// sync succeed. So the staged write is discarded, which is the one failure of a
// Commit that it does not survive.
//
// # Depth
//
// The price of an operation grows with its path and not faster. What changes the sums of
// a quota goes down from the root and looks for a quota in each directory on the way,
// which takes three system calls a level; all else is one call. Directories that were
// moved into each other can be deeper than any Path: they are counted, swept and removed
// all the same, with a bounded number of names in memory and some dozens of descriptors.
//
// # Two handles of one ID
//
// Handles of one staged write may write at the same time, in one process or
// several. Each write holds a shared file lock, a Commit an exclusive one, and a
// handle whose staged write was committed or removed by another one answers
// Conflict (its Commit succeeds, if the other one was a Commit).
//
// # Files
//
//	fs, place                            the store; the way down to a directory, and its quotas
//	dir, dir_*, entries_linux, walk      what the system is asked about names: beside open directories, or by paths; trees
//	stat*, mark, xattr_*, owner          what is known of a file, and kept with it
//	open, list, access, attr,            one operation each, or two
//	mkdir, rename, remove, removetree,
//	handle, xattr, capabilities, link,
//	digest, usage, space*, copy,
//	sweep
//	create, staged, leaf,                staged writes, from the temporary to its new name
//	identity, lock*, commit
//	sparse                               holes, where zeros are written or copied
//	batch                                many small files with one sync
//	quota, tree, sums                    directories with a quota, and the sums of their trees
//	claim, move, slots                   what an operation may add to them, and names held while it does
//	errors*, names_*, system_*, bytes_*  what differs between systems
package localfs
