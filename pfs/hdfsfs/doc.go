// Package hdfsfs is a pfs.FileSystem over HDFS, through the library
// github.com/colinmarc/hdfs.
//
// # Reads
//
// Only verified bytes are delivered. The library returns bytes before it checks them, so
// the connection below it (dataConn) takes each packet whole and compares it with its
// checksums first. To the library a damaged replica looks like a lost connection, and it
// continues with the next replica at that byte. The damage is logged. A block without a
// good replica is an Integrity error that names file, offset, block and DataNodes. What
// cannot be verified is refused: blocks without checksums, data transfer that is signed or
// encrypted as a whole, encryption zones.
//
// A File is bound to its inode, whatever file has its name later. Once HDFS has removed
// the blocks of a replaced file, reads answer Conflict.
//
// # Writes
//
// A staged write is a directory in ".pfs-stage/USER" below the root. It is named by the
// inode of the target's directory, a hash of the target's name, and the ID. In it:
//
//   - "new-RANDOM" is a part that is being written.
//   - "part-NUMBER" is a whole part, verified by the checksum that the cluster returned. A
//     part is Options.PartSize long, which is Unit.
//   - "joined" has the first parts, joined by Commit.
//
// Commit joins the parts with the NameNode's concat, sets mode, time, group and stored
// digest, and renames the file. The directory shows which steps are done, so a Commit that
// was interrupted, or another upload with the same ID, continues from there.
//
// The library cannot mend the pipeline of a part: when a DataNode is lost, the bytes of
// that part are, and WriteAt answers Integrity until the part is written again from its
// start. A part that all DataNodes have acknowledged is verified and stored while the next
// one is written; the next call on that part waits for it.
//
// The library has five packets on their way, and waits for each. Below it packets are
// joined and acknowledged ahead, 5 MiB of them (blockFlow). The last one of a block is
// acknowledged only when all DataNodes have acknowledged all, so that nothing counts as
// stored that is not.
//
// The NameNode goes on to choose a DataNode that has died until it has missed it for
// minutes. A pipeline with one is refused while another choice may have none, and then
// built without it; the NameNode makes the replica that is missing. No block is given to
// fewer than two DataNodes unless one replica is asked for, or all others that the
// NameNode has chosen in the last minute cannot be reached. Commit does not look at the
// replicas again: of one that was lost since, the NameNode would know no sooner than it
// makes another. With block tokens a pipeline that begins with a dead DataNode is not
// mended but tried again.
//
// The small files of WriteBatch are written many at once and without a directory each.
// To ask for the checksum of one would cost as much as to write it. Instead the checksums
// in the packets that leave for the DataNodes are compared with those of the bytes that
// were given: the last DataNode of a pipeline acknowledges only what matches them, and
// all of them keep them. Until they have their names they lie beside the directories of
// staged writes, as "b-TIME-ID"; what a call that was cut off leaves there, Sweep removes
// after ten minutes, since nobody goes on with it.
//
// Staged bytes do not count against the quota of the target's directory, so Create checks
// the remaining quota first if the file has more than one part.
//
// The directory is not beside the target, for three reasons: HDFS's own quotas would count
// staged bytes together with those they replace; the usage of a tree, which HDFS returns
// in one call, would contain them; and an empty directory could not be removed at once.
// The price: default ACLs, storage policies and erasure coding of the target's
// directory do not reach the file, nor does its group unless the service or the user
// may give it.
//
// The extended attribute "user.pfs.digest" of a file holds its digest, the ID of its upload,
// and the size and time for which both are valid.
//
// # Handles
//
// A handle that is open for writing appends with the library's append. From a write to the
// next Sync or Close the file is open in HDFS, and other writers answer Conflict. Sync closes
// it there, reads back what was appended, and compares; the next write opens it again. A
// handle syncs on its own after 64 MiB. When a DataNode of the pipeline is lost, so is what was
// appended since the last Sync: the handle answers Stale from then on, and HDFS lets nobody
// else write to the file for a minute.
//
// # Users
//
// Impersonate makes calls as a user, whose permissions HDFS then checks; it needs a cluster that
// believes names. WithOwner makes calls as the service and gives to the user what is made,
// before it has its name; it needs a service that is a superuser.
//
// # WebHDFS
//
// The library lacks some calls, which are made over the NameNode's web server: concat,
// renaming and committing without replacing, quotas, listing from a name on, block
// locations, a removal that tells whether there was anything. Without WebHDFS the parts
// are copied into one file, pages of a listing cost what is before them, and the rest
// answers Unsupported. New checks whether WebHDFS is there and accepts the service. If it is
// lost or refuses the service later, the calls answer Unavailable.
//
// # Calls
//
// The library takes no context. Each call has a client for itself (session), whose
// connections are closed when the context is done or the call takes too long. Each user has
// a pool of sessions. The NameNode that failed last is asked last. A call whose answer was
// lost is repeated only if it is idempotent; otherwise it answers Unavailable.
//
// # What HDFS cannot do
//
// It creates no links or special files, writes only at the end of a file, and has no ":" in names,
// no path of more than 1000 levels or 8000 bytes, and no time before 1970. Times are kept
// to the millisecond.
//
// # Files
//
//	fs, cluster, owner, users, rights   the trees of a cluster's users, what they share, missing rights
//	options, url, conf, kerberos     how it is configured, and its tickets
//	call, session, pool, namenodes   a call of the library: its deadline, its client, which NameNode it asks
//	web                              a call over WebHDFS
//	errors                           errors of the library, WebHDFS and the network, as Kinds
//	open, reader                     a File, and the readers that are kept between two reads
//	dataconn, packet, checksum,      a connection to a DataNode, which verifies reads
//	readrequest, protobuf
//	staged, stagedir, layout, part   a staged write, the directory that it is, its parts
//	attempt, pipeline, datanodes,    one try to write a part, the DataNodes that it avoids, and the
//	lastblock                        block that the library forgets too early
//	blockflow, writerequest          the bytes of a block below the library, acknowledged ahead
//	commit, join, finalize           Commit: its steps, one file of the parts, owner and mode and time
//	batch, sentsums, loose           WriteBatch, how it verifies, and the names that it has for a moment
//	sweep, identity                  abandoned uploads; which upload is which
//	stat, list, mkdir, remove,       the other operations
//	rename, attr, handle, settimes, usage,
//	quota, space, locations, digest
//	mark, xattr                      what is kept with a file
package hdfsfs
