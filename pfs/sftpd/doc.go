// Package sftpd is the gateway for SFTP and SCP: it serves the trees of users to the clients of SSH.
//
// golang.org/x/crypto/ssh is the transport. The packets of SFTP, version 3 with the extensions of OpenSSH, are served
// here: the request server of github.com/pkg/sftp (v1.13.12) does not pass on fsync, limits and other extensions, and
// gives no control over the order of writes and over memory.
//
// # Writing
//
// A file that a client creates or truncates to zero is an upload. It becomes visible whole when the client closes it. Until
// then, Stat shows it to its own user with the staged bytes, and others see the old file. A file that is opened for reading
// and writing is changed in place, if the store can do that. An upload whose client begins to write at random offsets is
// published and continued in place. So is an upload that is synced, because sshfs ignores the errors of CLOSE.
//
// For a file that is opened for writing without truncation, the first write decides. At offset 0 the file is an upload,
// since scp replaces files this way: it truncates the file after all bytes. If it does not, the bytes behind the end of the
// upload stay. At the end of an interrupted upload, the write continues this upload. At any other offset the file is
// changed in place.
//
// After a failed write the file is not published, unless the client repeats the write: OpenSSH's clients send CLOSE also
// after an error.
//
// The bytes of an upload reach the store in order. Clients write in parallel, so bytes that arrive early wait in memory (at
// most 4 MiB). Close commits with the digest of all bytes.
//
// If the client leaves without closing, or the process dies, the upload stays on the store, with a journal of the digests
// of received leaves. A client that opens the file again without truncation ("reput") continues, at any replica, after the
// staged bytes were compared with the journal. Stat shows the user their number. A journal is valid while the file that the
// upload will replace is the same. Stores without random writes (HDFS) keep no interrupted uploads of this kind.
//
// # Limits
//
// Requests of a session are served one after the other, each in the user's share of slots and turns, so a session needs a
// buffer for one packet and one answer. The connections of a user take turns to decrypt their input. A listing holds
// one page. Sessions in a connection, open files of a session and of a user, and the time for logging in are limited. A
// connection ends within 10 seconds after its user's credentials were revoked, and 2 minutes after the last byte of its
// client, which the service asks for a sign of life every 30 seconds.
//
// # Files
//
//	server                           connections and logins
//	channel, packet                  sessions; packets and the table of their types
//	path, names                      paths as clients write them; requests that take a path
//	open, directory                  open files and directories
//	upload, journal, unclosed        uploads; their continuation; their use before CLOSE
//	exec, scp                        commands; the old protocol of scp
package sftpd
