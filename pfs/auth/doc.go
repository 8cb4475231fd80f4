// Package auth identifies users: accounts with password hashes, logins, access and refresh tokens,
// and the certificate of the service. It does not decide what an identity may do.
//
// # The files
//
// All files are in one directory, readable only by its owner, that any number of replicas may
// share:
//
//	accounts.yaml           the accounts
//	token.key               32 random bytes that sign access tokens
//	refresh/<user>/<token>  one small file for each refresh token
//	links/<user>/<link>     one small file for each share link
//	tls.crt, tls.key        the certificate, if one was made here
//	ssh_host_key            the private key by which SSH clients know the service
//	*.lock                  empty; held while the file of that name is changed
//
// Files are replaced atomically (a new file, synced, renamed), so a reader never sees half of one.
// A [Service] has no other state that replicas share: each replica counts failed logins for itself.
//
// # Tokens
//
// An access token is a JWT, signed with HMAC-SHA-256 by the key, that is valid for 15 minutes. Any
// replica can check it alone; it also checks that the account still has the generation that the
// token was issued for. The generation changes with the password and the role and never repeats, so
// a token of a removed account is not valid for a later account of the same name. A change in the
// accounts file takes effect within [Options.Poll].
//
// A refresh token is a random secret that is valid for 30 days and obtains access tokens. The
// service stores only its SHA-256. It ends by Logout, by a change of the password or the role, with
// the account, and when its user has too many newer ones.
//
// A link lets everybody who knows its address read one file or directory with the rights of its user. The token in
// the address is signed by a key that is derived from the service's key; the file in links has the path. A link
// ends when it expires or is revoked, and with the generation of the account.
//
// # Failed logins
//
// Three counters limit guessing. A network is an IPv4 address or an IPv6 /56.
//
//   - An account from one network: 5 failures are free. After that each failure doubles
//     the delay of the next attempt, from 1 second up to 30 seconds.
//   - A network, whatever the accounts: after 20 failures, accounts that have not logged
//     in from there get 1 free failure instead of 5.
//   - An account, from all networks: after 50 failures the account counts as under attack.
//     Networks that it has not logged in from get 1 free failure, and wait up to 15
//     minutes.
//
// The last two counters only delay, because strangers could use a lock to shut users out. The correct
// password of an account that has not failed from a network is accepted there at once, whichever
// other accounts fail there. An attacker at the owner's own address can delay the owner's logins by
// 30 seconds at a time; existing sessions continue. In exchange, an attacker gets one immediate guess
// for each account from every network under his control. With passwords of at least 8 bytes, and at
// most two passwords checked at a time, that is far from enough. Counters are reset after an hour
// without a failure.
//
// # Files
//
//	service, identity               the entry points, and the resulting identity
//	authenticate                    the same for long connections and for protocols that send passwords often
//	accounts*, account, table       the accounts file, queries and changes; one account; all of them
//	codec                           the accounts file as text, and its validation
//	hdfsuser                        the name of an account on HDFS
//	keys                            public keys of SSH
//	hash, hasher                    passwords, and the limit of concurrent checks
//	access, key                     access tokens, and the key that signs them
//	delegate                        for gateways: signatures, and sessions for programs that act for a user
//	refresh*                        refresh tokens, and the removal of ended ones
//	link                            share links
//	limiter                         failed logins, and the limit of counters
//	certificate, selfsigned,        the certificate, given or made; the host key of SSH
//	hostkey
//	dir, file, lock, os_*           the directory, atomic replacement, locks
package auth
