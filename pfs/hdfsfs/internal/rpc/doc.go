// Package rpc makes calls of ClientProtocol, which NameNodes serve, through Hadoop RPC (version 9).
//
// # Connections
//
// A Client makes the calls of one user. Its calls share one connection to each NameNode. One goroutine
// sends the calls in order, several at once if they wait; another one receives the responses and delivers
// each to its caller. A call that is given up leaves the connection as it is, and its late response is
// ignored. A connection without calls ends after 20 seconds. If a call times out and no response has come
// since it began, its connection takes no new calls.
//
// At most one attempt to connect to a NameNode runs at a time, and all callers wait for it. A handshake
// asks the NameNode how to authenticate. With Kerberos or a delegation token, both sides authenticate, and
// the strongest protection that the NameNode allows is used (hadoop.rpc.protection).
//
// # Repeated calls
//
// A call goes to the NameNodes in the order of Servers until one executes it. The next NameNode is tried
// after a StandbyException, a failed connection attempt, a lost connection and a missing answer; after the
// last one, the round is repeated three times. A repeated call has the same IDs. NameNodes keep the results
// of calls that must not be executed twice (create, append, rename, concat, delete, ...) for ten minutes,
// so they return the first result. Requests carry no state ID, so observers refuse to answer reads.
//
// # Bounds
//
// A response has at most 64 MiB, and takes memory only as it arrives. 64 calls wait in a queue to be sent;
// more callers wait for a place in it.
//
// # Files
//
//	client, servers   a call and its repetitions; the order of NameNodes
//	link, handshake   making a connection, authentication
//	conn              the calls of a connection
//	stream, frame     protected and plain messages
//	errors            exceptions, missing answers, refused tickets
package rpc
