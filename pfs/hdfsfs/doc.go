// Package hdfsfs is a pfs.FileSystem over HDFS.
//
// It calls NameNodes, and reads and writes blocks, with a client of its own (internal/rpc, internal/datanode).
//
// # Reads
//
// Reads return only verified bytes: each packet is compared with its checksums before its bytes
// count. If a replica is damaged or a DataNode is lost, the read continues with the next replica at
// that byte. A replica counts as damaged if its bytes do not match twice, because the network may
// have changed them the first time. The damage is reported to the NameNode once another replica has
// served the bytes, or if there is no other. If all replicas seem to be damaged, nothing is
// reported, because this host may be at fault. Unless Options.NoHedge is set, a read that is slower
// than 95 % of the last ones is repeated on another replica, and the first result wins. A block without
// a good replica is an Integrity error that names file, offset, block and DataNodes. Missing units
// of erasure-coded files are computed from the others. Blocks without checksums cannot be verified,
// so reading them is refused. All protections of data transfer are supported, and encryption with a
// key of the cluster.
//
// A File is bound to its inode, even if another file gets its name. Once HDFS has removed
// the blocks of a replaced file, reads return Conflict.
//
// # Writes
//
// An upload is a directory in ".pfs-stage/USER" below the root. Its name consists of the
// inode of the target's directory, a hash of the target's name, and the ID. It contains:
//
//   - "new-RANDOM", a part that is being written.
//   - "part-NUMBER", a complete part, verified by the checksum that the cluster returned. A
//     part has Options.PartSize bytes, which is also the Unit.
//   - "joined", the first parts, joined by Commit.
//
// Commit joins the parts with the NameNode's concat, sets mode, time, group and stored
// digest, and renames the file. The directory shows which steps are done, so the next Commit
// of this upload continues after an interrupted one.
//
// A block is written to a pipeline of DataNodes. When a DataNode is lost, does not answer, or
// answers wrongly, the pipeline continues without it. The pipeline gets another DataNode if half of
// the replicas are lost. A block that is appended or synced gets another one for each loss.
// Unacknowledged bytes are kept and sent again, so the caller notices nothing; see package datanode.
// If all DataNodes of a block are lost, the bytes of the part are lost with them: WriteAt returns
// Integrity until the part is written again from its start. When all DataNodes have acknowledged a
// part, its checksum is compared with the one that the cluster returns, and the part is stored,
// while the next part is written. The next call on a part waits for that.
//
// The NameNode still chooses a DataNode for minutes after it died. So a DataNode that failed is
// excluded from new blocks for a minute, unless fewer than two would be left. The NameNode makes
// missing replicas of a block. Commit does not check them again: the NameNode replaces a lost
// replica as soon as it notices the loss.
//
// If the directory of the target has an erasure coding policy with the codec rs or xor, the parts of
// an upload are written under it. The policy must be enabled. A part is then a block group: as many
// blocks as the policy has data units. Writing a group continues while at most as many DataNodes
// fail as there are parity units; the NameNode makes the lost units again. Small files of WriteBatch
// would take more space, so they are replicated, and so are files that handles make. An append to an
// erasure-coded file begins a block group, since HDFS does not open its last one again.
//
// In an encryption zone, each file has its own key. The KMS that the NameNode names decrypts it for
// the user. Decrypted keys are kept for a minute. So after the KMS revokes a right, the files of
// these keys can be opened for up to a minute, and an open File can be read until it is closed. With
// Kerberos the KMS must authenticate itself, but only HTTPS protects the key in transit. DataNodes
// get and compare only encrypted bytes; digests are those of the clear bytes. HDFS moves no file
// into a zone, out of it, or between zones, so a zone below the root has its own ".pfs-stage", which
// listings hide. HDFS joins no files in a zone: Commit of a file of several parts copies them into
// one file.
//
// A file that is open for writing has a lease, which is renewed three times a minute. New files
// share one lease, and each append has its own. When a process dies, other writers can take its
// files over after a minute.
//
// WriteBatch writes many small files at once, without a directory for each. It does not ask the
// cluster for the checksum of a small file, because that would cost as much as to write the file:
// the checksums in the packets are those of the caller's bytes, the last DataNode of a pipeline
// acknowledges only bytes that match them, and all DataNodes keep them. Before they are renamed, the
// files are beside the directories of uploads, as "b-TIME-ID". Sweep removes the files of an
// interrupted call after ten minutes.
//
// Staged bytes do not count against the quota of the target's directory, so Create checks
// the remaining quota first if the file has more than one part.
//
// Uploads are not beside their targets, for three reasons: HDFS's quotas would count the
// staged bytes together with those that they replace; the usage of a tree, which HDFS returns
// in one call, would include them; and an otherwise empty directory could not be removed.
// The price: the file does not inherit the default ACLs and the storage policy of the target's
// directory. It inherits the group only if the service or the user may set it.
//
// The extended attribute "user.pfs.digest" of a file holds its digest, the ID of its upload,
// and the size and time for which both are valid.
//
// # Handles
//
// A handle that is open for writing appends. From a write to Close the file is open in HDFS, and
// other writers get Conflict. Sync returns when the bytes are on the disks of the DataNodes of the
// pipeline and the NameNode knows their number: they survive the writer, and others can read them.
// Sync sets the time of the file, as closing it does. If nothing is written for a second after a
// Sync, the file is closed in HDFS and keeps its time; the next write opens it again. Other writers
// wait for that. Each Sync closes an erasure-coded file. A handle also syncs at the end of a block
// after 64 MiB or more, and after each 256 MiB. A Sync waits for the end of a failover. If that takes
// more than two timeouts, Sync returns Unavailable, nothing is lost, and the next Sync continues.
// When all DataNodes of the pipeline are lost, so are the bytes appended since the last Sync: the
// handle then returns Stale, and HDFS refuses other writers of the file for a minute.
//
// # Users
//
// Impersonate makes calls as a user, whose permissions HDFS then checks. It needs a cluster that
// trusts user names. WithOwner makes calls as the service and changes the owner of new files and
// directories to the user before they get their names. It needs a service that is a superuser.
//
// # Calls
//
// Each user has one connection to each NameNode, which all calls share (internal/rpc). The NameNode
// that failed last is tried last. A call whose response was lost is repeated with the same ID, on
// the next NameNode if there is one. Calls that must not be executed twice are in the NameNodes'
// retry cache, which returns the first result: create, append, updatePipeline, rename, delete,
// concat, and changes of extended attributes. All other calls have the same effect the second time.
//
// # What HDFS cannot do
//
// It creates no links or special files, writes only at the end of a file, and has no ":" in names,
// no path of more than 1000 levels or 8000 bytes, and no time before 1970. Times are kept
// to the millisecond.
//
// # Files
//
//	fs, cluster, owner, users, rights   the trees of a cluster's users, their shared state, missing rights
//	options, url, conf, kerberos     configuration, Kerberos tickets, delegation tokens
//	client, namenode                 the client of a user, a call of a NameNode
//	errors                           errors of the cluster and the network, as Kinds
//	open, reader, blocks             a File, the readers that are kept between reads, and the known blocks
//	encryption                       the key of a cluster that encrypts data transfer
//	staged, stagedir, layout, part   an upload, its directory, its parts
//	coding                           erasure coding of new files
//	zone                             encryption zones: keys of files, where uploads are staged
//	attempt, addblock, renew         a file that is being written, its blocks, its lease
//	commit, join, finalize           Commit: its steps, joining the parts, the attributes of the file
//	batch, temporary                 WriteBatch, and the names of temporaries
//	sweep                            removal of abandoned uploads
//	stat, list, mkdir, remove,       the other operations
//	rename, attr, handle, lease,
//	settimes, usage, quota, space,
//	locations, digest
//	mark, xattr                      the stored digest and other extended attributes
package hdfsfs
