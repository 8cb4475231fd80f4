// Package transfer copies files and trees between any two pfs.FileSystem values:
// verified, resumable, in parallel and in bounded memory. It is the engine behind
// the commands cp, sync and verify and behind the service's own copies between
// stores.
//
// # Jobs
//
// [New] makes a [Job] from [Options]. A job does one thing: Copy, CopyAll, CopyFile,
// FromReader, ToWriter or Verify. It copies exactly the path of the source [End] to
// exactly the path of the target End. Trailing slashes and patterns in operands are the
// caller's business.
//
// # Verification
//
// Every leaf of pfs.ChunkSize bytes is hashed when it is read from the source. Commit
// sends the tree digest of all leaves (package digest, XXH3) to the target, which stores
// it and, across a wire, verifies it. If the source stores a digest, the two must be equal.
// Otherwise the source is damaged: the result is Integrity, and nothing is published. If
// the source's Version changes during the copy, the result is Conflict.
//
// # Resuming
//
// The ID of an upload is a hash of [Options.Origin], both paths and the source's version,
// size and time. An interrupted copy leaves its staged bytes, and the same copy, run again,
// finds them. It does not move leaves again that are correct (see journal.go). A changed
// source has another ID, so its copy starts from the beginning.
//
// # Memory
//
// Content: the [Pool] of the job, whatever the number of files. Names: one window of at most
// 32,768 directory entries for all directories together (about 15 MB); tables of at most
// 262,144 target entries for all of them (about 25 MB); the names of the subdirectories of
// one window for each level of the tree; and 16 bytes a name for a directory with several
// pages or a mirrored one, which is 16 MB for 1,000,000 names. A stream to a target with long
// units keeps one unit on disk.
//
// # Errors
//
// Temporary errors are retried within the retry.Budget of the context, or Options.Retry. A
// failed file is reported as an event and counted, and the job continues. Only errors that
// every further file would meet end it: Unauthenticated, a store that stays unreachable, and
// the end of the context. After NoSpace or Quota smaller files are still tried; larger files
// of that directory fail at once.
//
// If the target loses an upload unit (Staged.Unit) while it is sent, the unit is sent again
// from its start. Another pass over the file finds bytes that the target lost later. A stream
// cannot be read again, so its bytes are kept until they are durable: in memory, or on disk if
// units are long. One count for each upload bounds all of this (retry.MaxRepairs, upload.go).
//
// A job that could not do all of its work returns an [Incomplete]; a job of a single
// file returns the error of that file.
//
// # Files
//
//	job, options, event, stats,      a job, its options, its output
//	counters, nameerror
//	pool, retry                      its memory; its retries
//	run, trees, item, copyitem       Copy and CopyAll: the stages of a job over trees, and the items in them
//	ahead                            totals, counted ahead of the walk
//	walk, listing, resolve, links,   finding the files to copy
//	filter
//	dirmatch, besides, names,        finding the files that the target already has
//	decide, comparedigests
//	directory, makedirs, mirror      directories: creating them, setting times, deleting extra entries
//	batch                            many small files in few requests, also within one file system
//	noroom                           files that are skipped because smaller ones did not fit
//	rehearsal                        a target that only checks changes, for a dry run
//	inside                           a copy within one file system, such as a whole service
//	filecopy, commit                 a copy of one file: its passes, its errors, its commit
//	send, leafbuffer,                one pass over the leaves of a file
//	ordereddigests
//	resume, journal                  finding the leaves that are already staged
//	upload                           an upload, reopened and repaired when the target has lost it
//	writer, stream, spool            copying from a stream, which cannot be read again
//	outputs                          files that become visible together
//	towriter, readahead              copying to a stream
//	verify                           comparing two trees
package transfer
