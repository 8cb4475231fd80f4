package wire

// The methods for the public keys of a user.
const (
	CallKeyAdd    = "key-add"
	CallKeyList   = "key-list"
	CallKeyRemove = "key-remove"
)

// KeyRequest names a public key: by its line, to add it, or by its fingerprint, to remove it.
type KeyRequest struct {
	Line        string `msgpack:"line,omitempty"`
	Fingerprint string `msgpack:"fingerprint,omitempty"`
}

// Key is a public key of a user.
type Key struct {
	Fingerprint string `msgpack:"fingerprint" json:"fingerprint"`
	Type        string `msgpack:"type" json:"type"`
	Comment     string `msgpack:"comment,omitempty" json:"comment,omitempty"`
}

// KeyReply are the keys that a request is about.
type KeyReply struct {
	Keys []Key `msgpack:"keys"`
}
