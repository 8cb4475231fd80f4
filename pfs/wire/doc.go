// Package wire is the protocol between the pfs service and its clients: messages,
// their encoding, errors, chunks and the names of the calls. Package server serves
// it and package client speaks it; both import the definitions from here, so that
// they cannot drift apart.
//
// # Transport
//
// HTTP/1.1, over TLS except on the loopback interface. Everything is below /v1.
// Every response carries
//
//	Pfs-Protocol: 1
//
// A client that does not find the header is not talking to a pfs service (a proxy may have
// answered). A client that finds another number must stop. A request may carry the header too;
// if the service does not support its number, it responds with the Kind unsupported and its own
// number.
//
// Every request except those for /v1/service, /v1/login, /v1/refresh and /v1/logout
// carries
//
//	Authorization: Bearer ACCESS-TOKEN
//
// Access tokens are valid for minutes. The response to an expired one is the Kind
// unauthenticated (HTTP 401), before anything is done; the client posts its refresh token to
// /v1/refresh and sends the request again. /v1/refresh responds with not found (HTTP 404) if the
// account was removed, because a login cannot help.
//
// Two more headers are optional. "Pfs-Datacenter: NAME" is the client's own name for the
// service's current datacenter (its configuration entry); paths may use it if no datacenter has
// that name. "Pfs-Request: ID" is described below.
//
// An answer to a user carries "Pfs-Instance: NAME", which names the running service: another
// replica, or the same one after a restart, has another name. It also states what the user may
// have in progress: "Pfs-Requests" is a number of requests; "Pfs-Batches" is a number of batches
// that are read, and the same number of batches that are written (writes to handles count as
// these). Further requests wait, and are answered Limit after a while.
//
// # Messages
//
// Control messages are MessagePack maps with the keys of the structs in message.go, info.go,
// attr.go and handle.go. Unknown keys are ignored and absent ones are zero, so a field can be
// added within a version. So can a call: a service that does not know it answers Unsupported.
//
// No message is longer than MaxMessage bytes. A message of a call or a login is not longer than
// MaxRequest (set-xattr and concat: MaxLongRequest). No array has more elements than a page. A
// receiver checks every length in a message against the available bytes before it decodes
// (Decode), so a message never needs more memory than a small multiple of its size.
//
// Paths are absolute names as pfs.ParsePath accepts them. A time is seconds and nanoseconds
// since 1970 UTC; a mode is POSIX st_mode.
//
// # Calls
//
//	POST /v1/call/METHOD   body: the method's request message
//
// The response to a call that ends within a second is its reply message (200,
// application/msgpack), or an error. The response to a longer one is 200 and
// application/x-pfs-frames: frames, each a length of 4 bytes big-endian and a Frame message of
// that many bytes. Frames come at least every few seconds, to show that the call is alive and its
// progress; the last one has Done set and carries the reply or the error. A stream without it was
// cut off.
//
// If the connection ends before the reply, the service aborts the call as soon as it notices, so
// the call may or may not have been done. Calls may be sent again: reading ones freely; create,
// leaves, sync and commit because an upload has an ID; the rest with the same Pfs-Request ID (8
// to 64 characters of 0-9 and a-z). The service remembers the outcome under that ID for ten
// minutes and answers it again instead of doing the call twice; of a batch it then does only the
// rest.
//
// A service processes a limited number of requests at a time, for each user and in total. It
// answers limit (429) with Retry-After to a request that waited too long for its slot. It aborts
// a request whose body makes no progress for half a minute, or arrives at less than 16 KiB a
// second for longer than that.
//
// # Errors
//
// A status of 400 or above comes with an Error message: kind (the number of the pfs.Kind), path,
// and text. The kind decides; the status is derived from it (StatusOf) for proxies and logs. If
// damaged is set, the bytes of the request changed in transit, and sending them again can help. A
// body that is not an Error message comes from a proxy; KindOfStatus maps its status.
//
// # Data
//
// Content is sent in chunks of at most pfs.ChunkSize (4 MiB) bytes, each a request of its own. A
// chunk on the wire is its bytes followed by their checksum, the XXH3-128, 16 bytes big-endian;
// Content-Length counts both. If the chunk is a leaf, the checksum is also its digest, so each end
// hashes the bytes only once.
//
//	GET /v1/data?path=P&off=O&len=L[&version=V][&info=1]
//
// returns a chunk of at most L bytes from offset O, shorter only at the end of the file. With
// version, the response is conflict if the file's Info.Version differs. With info, the header
// Pfs-Info holds the Info message in base64 (standard, padded). With id=ID the chunk comes from
// that upload. A receiver whose checksum differs asks again.
//
// An error in the first 256 KiB is the answer. After a later one the service cuts the connection,
// unless the request said "TE: trailers". Then a longer chunk comes without Content-Length, in
// HTTP's chunked coding; after an error it ends early, and the trailer Pfs-Error is the Error
// message in base64, without the path.
//
//	PUT /v1/data?path=P&id=ID&off=O
//
// writes a chunk to the upload ID. The answer is 204 if the checksum is right, and integrity
// (HTTP 422) if not; then the chunk must be sent again. Chunks of one upload may be sent in any
// order and in parallel.
//
// # Handles
//
// A handle is a file that stays open between requests; see pfs.Handle. The call open takes
// an ID that the client chooses, path, flags and mode, and answers the file's Info and the
// length of the lease in seconds. Every request on the handle renews the lease, and so
// does renew, which takes the IDs of many handles and answers which of them the service does
// not hold. When the lease ends, the service closes the file. A write is visible when it is
// answered, except on stores that publish an append only at sync and close (HDFS). If closing
// fails, handle-close answers the error, also when it is repeated, and any other request on
// the handle answers Stale.
//
// A request on a handle carries its ID, and the path, the flags and the file ID (Info.ID)
// of the open. A service that does not hold the handle, because it was restarted, another
// replica opened it or the lease ended, opens the path again, without create, exclusive
// and truncate. It answers Stale if the path no longer leads to that file, or if the store has
// no file IDs. On a store that reuses the IDs of removed files, a new file at the path may be
// mistaken for the old one. Nothing here is secret: a service looks for an ID only
// among the handles of the identity that sends it, and reopening needs the same permission as
// open, so a forged request reaches nothing that open would refuse.
//
//	GET /v1/data?path=P&off=O&len=L&handle=ID&flags=F&file=N
//	PUT /v1/write?path=P&off=O&handle=ID&flags=F&file=N[&again=1]
//
// read and write one chunk. A chunk is written only after its checksum was verified. A write
// carries a Pfs-Request ID, and a repetition waits until the first request has ended. At an
// offset it then writes the same bytes again. An append is not repeated: the repetition gets the
// answer of the first request. It carries again=1 if the answer was lost after the whole chunk
// was sent; a service that does not know the first request then answers Stale, because the bytes
// may or may not have been appended.
//
// Writes are lost if a service ends before they are synced. The client therefore compares
// the Pfs-Instance of the answers: if another instance than the one that took the writes
// answers handle-sync or handle-close, the client returns Stale, once.
//
// # Upload sessions
//
// An upload takes these requests:
//
//   - create, with an ID that the client chooses, best derived from the source, so that a
//     repeated upload finds its staged bytes;
//   - leaves, if create answered resumed, for the digests of the staged bytes;
//   - PUT for every chunk that is missing or differs;
//   - commit, with size and digest.
//
// At commit the service computes the digest of the staged bytes, and reads back those that it
// did not receive itself since it was started. It publishes only if the digests are the same; else
// it answers integrity and keeps the upload. sync makes the bytes sent so far durable, for
// senders that cannot read their source again. discard removes the upload; an abandoned upload is
// removed after a week. The same ID of another user names another upload.
//
// # Batches
//
//	POST /v1/batch
//
// body: a 4-byte length, a BatchRequest message of that many bytes, then the contents
// of its files in order, each followed by its checksum. At most MaxBatchEntries entries
// and MaxBatchBytes of content. The answer is a BatchReply with one Error per failed entry.
// The other entries are whole, visible and durable.
//
//	POST /v1/read
//
// body: a 4-byte length and a ReadRequest message of that many bytes, within the same
// bounds. The answer is many small files at once: a 4-byte length, a ReadReply message, then
// the contents of the files without an error in order, each followed by its checksum. A file
// whose length differs from the request has the error conflict.
//
// Instead of files the request may list ranges of files, also many of one file. They are answered
// in the same order; a range is shorter than requested only at the end of its file. One with a
// version has the error conflict if the file's Info.Version differs, or the file is gone. A service
// that does not know ranges answers none; the client then reads them with GET /v1/data.
//
//	POST /v1/copy-batch
//
// body: a 4-byte length and a CopyBatchRequest message of that many bytes, within the same
// bounds. The service copies the files inside, each as the call copy would, and answers a
// BatchReply.
package wire
