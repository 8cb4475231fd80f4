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
// A client that does not find the header is not talking to a pfs service (a proxy may have answered). A client that finds another number must stop. A request may carry the header too; if the service does not support its number, it responds with the Kind unsupported and its own number.
//
// Every request except those for /v1/service, /v1/login, /v1/refresh and /v1/logout
// carries
//
//	Authorization: Bearer ACCESS-TOKEN
//
// Access tokens are valid for minutes. The response to an expired one is the Kind unauthenticated (HTTP 401), before anything is done; the client posts its refresh token to /v1/refresh and sends the request again. /v1/refresh responds with not found (HTTP 404) if the account was removed, since a login cannot help.
//
// Two more headers are optional: "Pfs-Datacenter: NAME" is the name by which this
// client knows the service's current datacenter (its configuration entry), accepted
// in paths where no datacenter has the name itself; "Pfs-Request: ID" is below.
//
// An answer to a user carries "Pfs-Instance: NAME", which names the running service: another
// replica, and the same one after a restart, has another name. It also states how much the
// user may have at work: "Pfs-Requests" is a number of requests; "Pfs-Batches" is a number
// of batches that are read, and the same number of batches that are written, among which
// writes to handles count. Further requests wait, and are answered Limit after a while.
//
// # Messages
//
// Control messages are MessagePack maps with the keys of the structs in
// message.go, info.go, attr.go and handle.go; unknown keys are ignored and absent ones are zero, so
// that a field can be added within a version. So can a call: a service that does not know
// it answers Unsupported. No message is longer than MaxMessage bytes, and no message of a call or a login longer than MaxRequest (of set-xattr and concat MaxLongRequest); no array in one has more elements than a
// page. A receiver checks every length in a message against the available bytes before it decodes (Decode), so a message never needs more memory than a small multiple of its size. Paths are absolute names as pfs.ParsePath accepts them. A time is seconds and
// nanoseconds since 1970 UTC; a mode is POSIX st_mode.
//
// # Calls
//
//	POST /v1/call/METHOD   body: the method's request message
//
// The response to a call that ends within a second is its reply message (200, application/msgpack), or an error. The response to a longer one is 200 and application/x-pfs-frames: frames, each a length of 4 bytes big-endian and a Frame message of that many bytes. Frames at least every few seconds show that the call is alive and its progress; the last one has Done set and carries the reply or the error. A stream without it was cut off.
//
// If the connection ends before the reply, the service gives the call up as soon as
// it notices, so it may or may not have been done. Calls may be sent again: reading
// ones freely; create, leaves, sync and commit because a staged write has an ID; the
// rest with the same Pfs-Request ID (8 to 64 characters of 0-9 and a-z), under which
// a service remembers the outcome for ten minutes and answers it again instead of
// doing the call twice; of a batch it then does what it had not yet done.
//
// A service works on a limited number of requests at a time, for each user and in all.
// One that had to wait too long for its turn is answered limit (429) with Retry-After.
// A sender must keep moving: a request whose body stands still for half a minute, or
// comes in at less than 16 KiB a second for longer than that, is given up.
//
// # Errors
//
// A status of 400 or above comes with an Error message: kind (the number of the
// pfs.Kind), path, and text. The kind decides; the status is derived from it
// (StatusOf) for the sake of proxies and logs. With damaged set the bytes of the request changed in transit, and sending them again can help. A body that is not an Error message comes from a proxy; its status is mapped by KindOfStatus.
//
// # Data
//
// Content is sent in chunks of at most pfs.ChunkSize (4 MiB) bytes, each a request of its own. A chunk on the wire is its bytes followed by their checksum, the XXH3-128, 16 bytes big-endian; Content-Length counts both. If the chunk is a leaf the checksum is also its digest, so each end hashes the bytes only once.
//
//	GET /v1/data?path=P&off=O&len=L[&version=V][&info=1]
//
// returns a chunk of at most L bytes from offset O, shorter only at the end of the file. With version, the response is conflict if the file's Info.Version differs. With info, the header Pfs-Info holds the Info message in base64 (standard, padded). A receiver whose checksum differs asks again. With id=ID the chunk comes from that staged
// write.
//
// An error is told before the answer begins, if it is met in the first 256 KiB. Behind
// them the connection is cut; unless the request said "TE: trailers": then a longer chunk
// comes without Content-Length, in HTTP's chunked coding, ends early, and the trailer
// Pfs-Error is the Error message in base64, without the path.
//
//	PUT /v1/data?path=P&id=ID&off=O
//
// writes a chunk to the staged write ID; 204 if the sum was right, and integrity
// (HTTP 422) if not, after which the chunk must be sent again. Chunks of one staged
// write may be sent in any order and in parallel.
//
// # Handles
//
// A handle is a file that stays open between requests; see pfs.Handle. The call open takes
// an ID that the client chooses, path, flags and mode, and answers the file's Info and the
// length of the lease in seconds. Every request on the handle renews the lease, and so
// does renew, which takes the IDs of many handles and answers which of them the service
// does not hold. When the lease ends, the service closes the file without a sync. A handle
// holds no staged bytes: a write is in the store when it is answered.
//
// A request on a handle carries its ID, and the path, the flags and the file ID (Info.ID)
// of the open. A service that does not hold the handle, because it was restarted, another
// replica opened it or the lease ended, opens the path again, without create, exclusive
// and truncate. It answers Stale if the path does not lead to that file any more, or if
// the store has no file IDs. None of this is secret: a service looks for an ID only among
// the handles of the identity that sends it, and to open a path again asks for the same
// permission as to open it, so a forged request reaches nothing that open would refuse.
// A store that gives a new file the ID of a removed one, as disks do, cannot be asked
// whether the path leads to the file or to one that has taken its place meanwhile.
//
//	GET /v1/data?path=P&off=O&len=L&handle=ID&flags=F&file=N
//	PUT /v1/write?path=P&off=O&handle=ID&flags=F&file=N[&again=1]
//
// read and write one chunk. Nothing of a chunk is written before its sum was checked. A
// write carries a Pfs-Request ID, and a repetition waits until the first request has ended.
// At an offset it then writes the same bytes again. What is appended is not written twice:
// a repetition is answered as the first request was. It carries again=1 if the answer was
// lost after the whole chunk was sent, and a service that does not know the first request
// answers Stale, because nobody knows whether the bytes were appended.
//
// Writes are lost if a service ends before they are synced. The client therefore compares
// the Pfs-Instance of the answers: if another instance than the one that took the writes
// answers handle-sync or handle-close, the client returns Stale, once.
//
// # Upload sessions
//
// An upload is: create (with an ID of the client's choosing, best derived from the
// source, so that the same upload run again finds its own), then, if create said
// resumed, leaves to learn the digests of what is staged already, then PUT for every
// chunk that is missing or differs, then commit with size and digest. The service
// computes the digest of what it received, reads back what it did not see itself
// (another replica did, or an earlier life), and publishes only if both are the same;
// else it answers integrity and keeps the staged write. sync makes what was sent so
// far durable, for senders that cannot read their source again. A staged write that
// nobody goes on with is swept after a week; discard removes it at once. The same ID of another
// user names another staged write.
//
// # Batches
//
//	POST /v1/batch
//
// body: a 4-byte length, a BatchRequest message of that many bytes, then the contents
// of its files in order, each followed by its sum. At most MaxBatchEntries entries
// and MaxBatchBytes of content. Answers a BatchReply with one Error a failed entry.
// The others are whole, visible and durable.
//
//	POST /v1/read
//
// body: a 4-byte length and a ReadRequest message of that many bytes, within the same
// bounds. Answers many small files at once: a 4-byte length, a ReadReply message, then
// the contents of the files without an error in order, each followed by its sum. A file
// of another length than the request says answers conflict.
//
//	POST /v1/copy-batch
//
// body: a 4-byte length and a CopyBatchRequest message of that many bytes, within the same
// bounds. Copies the files inside the service, each as the call copy would, and answers a
// BatchReply.
package wire
