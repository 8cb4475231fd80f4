// Package auth says who makes a request: accounts with password hashes, logins,
// access tokens and refresh tokens, and the certificate of the service. What an
// identity may do is decided elsewhere.
//
// # The files
//
// Everything lives in one directory, readable by its owner only, that any number
// of replicas may share:
//
//	accounts.yaml           the accounts
//	token.key               32 random bytes that sign access tokens
//	refresh/<user>/<token>  one small file for each refresh token
//	tls.crt, tls.key        the certificate, if one was made here
//	*.lock                  empty; held while the file of that name is changed
//
// Files are replaced whole (a new file, synced, renamed), so a reader never sees
// half of one. A [Service] keeps nothing else that another replica would need: the
// counters of failed logins are each replica's own.
//
// # Tokens
//
// An access token is a JWT, signed with HMAC-SHA-256 by the key, that lives 15
// minutes. Any replica checks it without asking anybody, and sees then that the
// account still exists in the generation that the token was issued for. The
// generation changes with the password and the role and is never the same again,
// so that a token of a removed account does not fit one made later under its name.
// A change in the accounts file takes effect within [Options.Poll].
//
// A refresh token is a random secret that lives 30 days and buys access tokens.
// The service keeps only its SHA-256. It dies by Logout, with the password, the
// role or the account, and when its user has too many newer ones.
//
// # Failed logins
//
// Three counters bound guessing. A network is an IPv4 address or an IPv6 /56.
//
//   - An account from one network: 5 failures are free. After that each one makes the
//     next attempt wait twice as long, from 1 second up to 30 seconds.
//   - A network, whatever the accounts: after 20 failures, accounts that have not logged
//     in from there get 1 free failure instead of 5.
//   - An account, from wherever: after 50 failures the account counts as under attack.
//     Networks that it has not logged in from get 1 free failure, and wait up to 15
//     minutes.
//
// The last two counters refuse nobody. That is on purpose: a lock that strangers can
// close is a way to shut a user out. The right password of an account that has not failed
// from a network passes there at once, whoever else fails there. An attacker at the
// owner's own address can delay the owner's logins by 30 seconds at a time; sessions that
// have begun go on. The price is that an attacker gets one guess at once for each account
// from every network that he owns; with passwords of 8 bytes and more, and no more than
// two passwords being checked at any moment, that is far from enough. A counter forgets
// after an hour without a failure.
//
// # Files
//
//	service, identity               what the service asks, and the answer
//	accounts*, account, table       the accounts file, what it is asked and how it is changed; an account; all of them
//	codec                           the accounts file as text, and what is wrong in one
//	hdfsuser                        the name of an account on HDFS
//	hash, hasher                    passwords, and how many are checked at once
//	access, key                     access tokens, and the key that signs them
//	refresh*                        refresh tokens, and those that have ended
//	limiter, lru                    failed logins, and how many are remembered
//	certificate, selfsigned         the certificate that is given, or made
//	dir, file, lock, os_*           the directory, files replaced whole, one change at a time
package auth
