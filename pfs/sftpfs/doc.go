// Package sftpfs is a store on a host that is reached by SFTP. It uses github.com/pkg/sftp over
// golang.org/x/crypto/ssh.
//
// # The server
//
// The server must speak version 3 of the protocol with the extensions posix-rename@openssh.com
// and fsync@openssh.com, as OpenSSH does. Without them a file could be lost while it is replaced,
// so Open refuses such a server. statvfs@openssh.com is used if the server offers it. The host key
// must be in the known_hosts file. SFTP does not tell which names are links to one file, so the store
// makes no hard links.
//
// # Promises
//
// Uploads are staged in hidden files beside their targets, synced, and renamed. SFTP cannot sync
// a directory: after a crash of the host the rename itself may be missing, and then the old file is
// there. Times are kept in seconds, and a Version consists of size and time. SFTP describes
// failures by few codes, so the store asks for the reason afterwards (a directory in the way, a full
// disk); it reports Other where it finds none.
//
// The store follows no links: it compares each parent with what the server resolves it to. A
// program on the host that replaces a directory by a link at that moment wins the race.
//
// # Connection
//
// All operations share one connection. If a server sends nothing for Options.Timeout while an
// operation waits, the connection is closed and its operations return Unavailable. The next operation
// connects again. Open files for reading continue on the new connection if their Version is the same,
// and return Conflict otherwise; handles return Stale.
//
// # Listings
//
// pkg/sftp reads whole directories into memory. Listings therefore use their own channel, for which
// readdir.go implements the five necessary requests, so that they need memory for one page only. A
// directory stays open between its pages. A token also names the last entry, so another process can
// continue by reading the directory from the start to this entry.
//
// # Files
//
//	options, store     the options and the URL; the store and what it can do
//	connection, fail   the connection and its time limit; Kinds of errors
//	stat, list         attributes; pages of listings
//	readdir            the requests of listings
//	change             directories, links, renames, removals, attributes
//	open, handle       files open for reading; files changed in place
//	staged, sweep      uploads; removal of abandoned uploads
package sftpfs
