// Package hdfsfs is a pfs.FileSystem over HDFS, through the library
// github.com/colinmarc/hdfs.
//
// # Reads
//
// No byte is delivered that was not verified. The library hands out what a DataNode
// sends before it checks it, so the check is made below it, in the connection that it
// is given (dataConn): each packet is taken whole and compared with its checksums
// before the library sees any of it. A damaged replica looks to the library like a
// lost connection, and it goes to the next one at that very byte. The damage is
// logged; a block without a good replica is an Integrity error that names file, offset,
// block and DataNodes. What cannot be verified is refused with Unsupported or an error:
// blocks without checksums, data transfer that is signed or encrypted as a whole,
// encryption zones.
//
// A File is bound to its inode: a file that takes its name is never mixed into it.
// Once HDFS has removed the blocks of a file that was replaced, reads answer Conflict.
//
// # Writes
//
// A staged write is a directory in ".pfs-stage/USER" below the root. It is named by the
// inode of the target's directory, a hash of the target's name, and the ID. In it:
//
//   - "new-RANDOM" is a part on its way.
//   - "part-NUMBER" is a part that is whole and verified: its checksum was asked back
//     from the cluster. A part is Options.PartSize long, and is Unit.
//   - "joined" is a row of parts from the first on, which Commit has joined.
//
// Commit joins the parts by the NameNode's concat, gives the file its mode, time, group
// and mark, and renames it. Each step can be seen in the directory, so that a Commit
// that was cut off, and another handle of the same ID, go on from there.
//
// The library cannot mend the pipeline of a part: when a DataNode is lost, the bytes of
// that part are, and WriteAt answers Integrity until the part is written again from its
// start. A part that all DataNodes have acknowledged is verified and stored while the next
// one is written; the next call that has to do with it waits for that.
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
// Since what is staged does not count for the quota of the target's directory, Create asks
// for what that has left, if the file has more than one part.
//
// The directory is not beside the target, for three reasons: HDFS's own quotas would
// count what is staged and what it will replace together; a sum of a tree, which HDFS
// gives in one call, would contain it; and an empty directory could not be removed at
// once. What it costs: default ACLs, storage policies and erasure coding of the target's
// directory do not reach the file, nor does its group unless the service or the user
// may give it.
//
// The extended attribute "user.pfs.digest" of a file holds the digest and the ID of the
// staged write that it was, and the size and time for which both are true.
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
// As makes calls as a user, whose permissions HDFS then checks; it needs a cluster that
// believes names. For makes calls as the service and gives to the user what is made,
// before it has its name; it needs a service that is a superuser.
//
// # WebHDFS
//
// The library lacks some calls, which are made over the NameNode's web server: concat,
// renaming and committing without replacing, quotas, listing from a name on, block
// locations, a removal that tells whether there was anything. Without WebHDFS the parts
// are copied into one file, pages of a listing cost what is before them, and the rest
// answers Unsupported. New finds out whether it is there and accepts the service; one that is
// lost later, or refuses the service later, is Unavailable.
//
// # Calls
//
// The library takes no context. Each call has a client for itself (session), whose
// connections are closed when the context is done or the call takes too long; sessions
// are pooled a user. The NameNode that failed last is asked last. A call whose answer
// was lost is repeated only if that does no harm; otherwise it answers Unavailable.
//
// # What HDFS cannot do
//
// It has no links that one could make, no special files, no writing but at the end of a file, no ":" in names,
// no path of more than 1000 levels or 8000 bytes, and no time before 1970. Times are kept
// to the millisecond.
//
// # Files
//
//	fs, cluster, owner, users, rights   the trees of a cluster's users, what they share, what they lack
//	options, url, conf, kerberos     how it is configured, and its tickets
//	call, session, pool, namenodes   a call of the library: its deadline, its client, which NameNode it asks
//	web                              a call over WebHDFS
//	errors                           what library, WebHDFS and network answer, as Kinds
//	open, reader                     a File, and the readers that are kept between two reads
//	dataconn, packet, checksum,      a connection to a DataNode, in which all that is read is verified
//	readrequest, protobuf
//	staged, stagedir, layout, part   a staged write, the directory that it is, its parts
//	attempt, pipeline, datanodes,    one try to write a part, the DataNodes that it avoids, and the
//	lastblock                        block that the library forgets too early
//	blockflow, writerequest          the bytes of a block below the library, acknowledged ahead
//	commit, join, finalize           Commit: its steps, one file of the parts, owner and mode and time
//	batch, sentsums, loose           WriteBatch, how it verifies, and the names that it has for a moment
//	sweep, identity                  what nobody goes on with; which staged write is which
//	stat, list, mkdir, remove,       the other operations
//	rename, attr, handle, settimes, usage,
//	quota, space, locations, digest
//	mark, xattr                      what is kept with a file
package hdfsfs
