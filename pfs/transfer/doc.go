// Package transfer copies files and trees between any two pfs.FileSystem values:
// verified, resumable, in parallel and in bounded memory. It is the engine behind
// the commands cp, sync and verify and behind the service's own copies between
// stores.
//
// # Jobs
//
// A [Job] is made by [New] from [Options] and does one piece of work: Copy,
// CopyAll, CopyFile, FromReader, ToWriter or Verify. It copies exactly the path of
// the source [End] to exactly the path of the target End. What a trailing slash
// or a pattern in an operand means is decided by the caller.
//
// # What is verified
//
// Every leaf of pfs.ChunkSize bytes is hashed when it is read from the source, and
// the tree digest of all of them (package digest, XXH3) goes to the target with
// Commit, which keeps it and, across a wire, checks it. If the source keeps a
// digest of its own, the two must be equal: else the source is damaged where it
// lies, the answer is Integrity, and nothing is published. The source's Version is
// the same before the first byte and after the last, or the answer is Conflict.
//
// # How a copy goes on
//
// The staged write of a file has an ID made of [Options.Origin], both paths and
// the source's version, size and time. A copy that was interrupted leaves its
// staged bytes, and the same copy, run again, finds them: leaves that are right
// already are not moved again (journal.go says how they are recognised). A source
// that changed has another ID and begins anew.
//
// # Memory
//
// Content: what the [Pool] of the job has, whatever the number of files. Names: one
// window of at most 32,768 directory entries for all directories together (about
// 15 MB), tables of at most 262,144 target entries for all of them (about 25 MB), the names of the subdirectories of one window for each level of the tree, and
// 16 bytes a name for a directory that takes several pages or is made a mirror: 16 MB
// for one of 1,000,000 names. A stream to a target of long pieces keeps one of them on disk.
//
// # Errors
//
// Temporary errors are retried as the retry.Budget of the context allows, or Options.Retry. A file that
// fails is reported as an event and counted, and the job goes on. Only errors that every
// further file would meet end it: Unauthenticated, a store that stays unreachable, and
// the end of the context. After NoSpace or Quota smaller files are still tried, and all
// others of that directory fail at once.
//
// If the target loses an upload unit (Staged.Unit) while it is sent, the unit is sent again
// from its start. Another pass over the file finds bytes that the target lost later. A file fails
// after several passes without progress. A stream cannot be read again, so its bytes are kept
// until they are durable: in memory, or on disk if units are long (Resending).
//
// A job that could not do all of its work returns an [Incomplete]; a job of a single
// file returns the error of that file.
//
// # Files
//
//	job, options, event, stats,      a job, what it is told, and what it tells
//	counters, nameerror
//	pool, retry                      its memory; what is tried again, and when
//	run, item, copyitem              Copy and CopyAll: the stages of a job of trees, and an item's way through them
//	ahead                            what there is, counted ahead of the walk
//	walk, listing, resolve, links,   finding what is to be copied
//	filter
//	dirmatch, besides, same, names   what the target has of it already
//	directory, makedirs, mirror      directories: made, given their times, rid of what the source lacks
//	batch                            many small files in few requests, within one file system too
//	noroom                           files that are not tried, since smaller ones did not fit
//	rehearsal                        a target that checks what a dry run would change
//	inside                           a copy within one file system, which a whole service is
//	copyfile, filecopy, commit       a copy of one file: its passes, its errors, its end
//	send, leafbuffer,                one pass over the leaves of a file
//	ordereddigests
//	resume, journal                  which leaves are staged already
//	writer, stream, fromreader,      from a stream, which nobody can read again
//	source
//	pieces, piecestream, spool       the same, to a target of long pieces
//	outputs                          files that get their names together
//	towriter, readahead              to a stream
//	verify                           two trees compared
package transfer
