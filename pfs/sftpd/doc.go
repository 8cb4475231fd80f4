// Package sftpd is the gateway for SFTP and SCP: it serves the trees of users to the clients of SSH.
//
// golang.org/x/crypto/ssh is the transport. The packets of SFTP, version 3 with the extensions of OpenSSH, are served
// here: github.com/pkg/sftp (v1.13.12) does not pass on fsync, limits and other extensions of a request server, and it gives no
// control of the order of writes and of memory.
//
// # Writing
//
// A file that a client creates or cuts to nothing is an upload. It becomes visible whole when the client closes it. Until
// then, Stat shows it to its own user with the bytes that are staged, and others see what was there before. A file
// that is opened for reading and writing is changed in place, where the store can. An upload whose client begins to write at
// random offsets is published and goes on in place. So does one that is synced: sshfs ignores the errors of CLOSE.
//
// A file that is opened for writing without being cut is one of three things, which the first write tells. At offset 0 it
// is an upload, since scp replaces files so: it cuts the file when all bytes are there. If it does not, the bytes behind
// the end of the upload stay. At the end of an interrupted upload it continues that. At any other offset the file is changed
// in place.
//
// A file of which a write failed is not published, unless the client repeats that write: OpenSSH's clients send CLOSE all the
// same.
//
// The bytes of an upload reach the store in order. Those that come early, since clients write in parallel, wait in memory (4
// MiB at most). Close commits with the digest of all bytes.
//
// If the client leaves without closing, or the process dies, the upload stays on the store, with a journal: the
// digest of each leaf that came. A client that opens the file again without cutting it ("reput") continues, at any
// replica, after the staged bytes were compared with the journal. Stat shows the user how many they are. A journal is valid
// while the file that the upload will replace is the same. Stores without random writes (HDFS) keep no interrupted uploads of
// this kind.
//
// # Limits
//
// Requests of a session are served one after the other, each in the user's share of slots and turns, so a session needs a
// buffer for one packet and one answer. The connections of a user take turns to decrypt what they receive. A listing holds
// one page. Sessions in a connection, open files of a session and of a user, and the time for logging in are limited. A
// connection ends within 10 seconds after its user's credentials were revoked, and 2 minutes after its client has
// sent the last byte, although the service asks it every 30 seconds whether it is there.
//
// # Files
//
//	server                           connections and logins
//	channel, packet                  sessions; packets and the table of their types
//	path, names                      paths as clients write them; requests that take a path
//	open, directory                  open files and directories
//	upload, journal, unclosed        files that become visible whole; how they are continued, and used before CLOSE
//	exec, scp                        commands; the old protocol of scp
package sftpd
