// Package hdfsfs is a pfs.FileSystem over HDFS.
//
// It calls NameNodes and reads blocks with a client of its own (internal/rpc, internal/datanode). It writes blocks
// through the library github.com/colinmarc/hdfs.
//
// # Reads
//
// Reads return only verified bytes: each packet is compared with its checksums before its bytes count. If a replica is damaged
// or a DataNode is lost, the read continues with the next replica at that byte, and the NameNode is told of the damage. A read
// that is slower than 95 % of the last ones is repeated on another replica; the first result wins. A block without a
// good replica is an Integrity error that names file, offset, block and DataNodes. Units of erasure-coded
// files that are missing are computed from the others. Reads that cannot be verified are refused: blocks
// without checksums, encryption zones. Clusters that sign or encrypt data transfer as a whole are refused, because writes cannot be.
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
// The library cannot repair the pipeline of a part. When a DataNode is lost, the bytes of
// that part are lost too, and WriteAt returns Integrity until the part is written again from its
// start. A part that all DataNodes have acknowledged is verified and stored while the next
// one is written; the next call on that part waits for it.
//
// The library keeps five packets in flight. Below it, blockFlow joins packets and acknowledges
// them early, up to 5 MiB. It acknowledges the last packet of a block only when all DataNodes
// have acknowledged all packets, so no bytes count as stored before they are.
//
// For minutes after a DataNode died, the NameNode still chooses it. A pipeline with a dead
// DataNode is refused as long as another choice may have none, and then built without it;
// the NameNode makes the missing replica. A block goes to at least two DataNodes, unless the
// file has one replica, or all other DataNodes that the NameNode chose in the last minute
// are unreachable. Commit does not check the replicas again: the NameNode replaces a lost
// replica as soon as it notices the loss. With block tokens, a pipeline that begins with a
// dead DataNode is tried again instead of shortened.
//
// WriteBatch writes many small files at once, without a directory for each. To get the
// checksum of a small file from the cluster would cost as much as to write it. Instead, the
// checksums in the outgoing packets are compared with those of the caller's bytes: the last
// DataNode of a pipeline acknowledges only bytes that match them, and all DataNodes keep them.
// Before they are renamed, the files are beside the directories of uploads, as "b-TIME-ID".
// Sweep removes those of an interrupted call after ten minutes.
//
// Staged bytes do not count against the quota of the target's directory, so Create checks
// the remaining quota first if the file has more than one part.
//
// Uploads are not beside their targets, for three reasons: HDFS's quotas would count the
// staged bytes together with those that they replace; the usage of a tree, which HDFS returns
// in one call, would include them; and an otherwise empty directory could not be removed.
// The price: the file does not inherit the default ACLs, storage policy and erasure coding of
// the target's directory. It inherits the group only if the service or the user may set it.
//
// The extended attribute "user.pfs.digest" of a file holds its digest, the ID of its upload,
// and the size and time for which both are valid.
//
// # Handles
//
// A handle that is open for writing appends with the library's append. From a write to the
// next Sync or Close the file is open in HDFS, and other writers get Conflict. Sync closes
// it in HDFS, and compares the checksums that were sent with those of the caller's bytes, as WriteBatch does, or
// reads the bytes back; the next write opens it again. A
// handle also syncs after each 64 MiB. When a DataNode of the pipeline is lost, so are the bytes
// appended since the last Sync: the handle then returns Stale, and HDFS refuses other writers
// of the file for a minute.
//
// # Users
//
// Impersonate makes calls as a user, whose permissions HDFS then checks. It needs a cluster that
// trusts user names. WithOwner makes calls as the service and changes the owner of new files and
// directories to the user before they get their names. It needs a service that is a superuser.
//
// # Calls
//
// Each user has one connection to each NameNode, which all calls share (internal/rpc). The NameNode that failed last is tried last.
// A call whose response was lost is repeated with the same ID, on the next NameNode if there is one. Calls that must not
// be carried out twice are in the NameNodes' retry cache, which returns the first result: rename, delete, concat, and changes of
// extended attributes. All others have the same effect the second time.
//
// The library takes no context. While it writes blocks, it has its own client (session), whose
// connections are closed when the context is done or the call exceeds its timeout. Each user has
// a pool of sessions.
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
//	options, url, conf, kerberos     configuration, Kerberos tickets
//	namenode                         a call of a NameNode
//	call, session, pool              a call of the library: its deadline, its client
//	errors                           errors of the cluster and the network, as Kinds
//	open, reader, blocks             a File, the readers that are kept between reads, and the blocks that are known
//	dataconn, packet, checksum,      a connection of the library to a DataNode
//	protobuf
//	staged, stagedir, layout, part   an upload, its directory, its parts
//	attempt, pipeline, datanodes,    one attempt to write a part, the DataNodes that it avoids, and the
//	lastblock                        last block, which the library forgets too early
//	blockflow, writerequest          the packets of a block, acknowledged early
//	commit, join, finalize           Commit: its steps, joining the parts, the attributes of the file
//	batch, sentsums, temporary       WriteBatch, its verification, and the names of temporaries
//	sweep                            removal of abandoned uploads
//	stat, list, mkdir, remove,       the other operations
//	rename, attr, handle, lease,
//	settimes, usage, quota, space,
//	locations, digest
//	mark, xattr                      the stored digest and other extended attributes
package hdfsfs
