package wire

// Handle names an open file in a request. With the fields after ID, a service that does not hold
// the handle can open it again.
type Handle struct {
	ID    string `msgpack:"id"`
	Path  string `msgpack:"path"`           // that it was opened by
	Flags uint8  `msgpack:"flags"`          // pfs.OpenFlags
	File  uint64 `msgpack:"file,omitempty"` // Info.ID
}

// OpenRequest opens a handle. The client chooses its ID.
type OpenRequest struct {
	Handle Handle `msgpack:"handle"`
	Mode   uint32 `msgpack:"mode"`
}

// OpenReply describes the file and states the lease in seconds.
type OpenReply struct {
	Info  Info  `msgpack:"info"`
	Lease int64 `msgpack:"lease"`
}

// HandleRequest is a request on an open handle. Off, Size and Attrs belong to some calls.
type HandleRequest struct {
	Handle Handle `msgpack:"handle"`
	Off    int64  `msgpack:"off,omitempty"`
	Size   int64  `msgpack:"size,omitempty"`
	Attrs  Attrs  `msgpack:"attrs,omitempty"`
}

// MaxRenew bounds the handles of one RenewRequest.
const MaxRenew = 400

// RenewRequest renews the leases of handles.
type RenewRequest struct {
	IDs []string `msgpack:"ids"`
}

// RenewReply has the indexes of the handles that the service does not hold.
type RenewReply struct {
	Gone []int `msgpack:"gone"`
}
