package wire

import "github.com/paddlecloud/pfs/pfs"

// MaxXattr bounds the value of an extended attribute, as Linux does.
const MaxXattr = 64 << 10

// Attrs are a pfs.AttrMask and the pfs.Attrs that it names.
type Attrs struct {
	Mask        uint16 `msgpack:"mask"`
	Mode        uint32 `msgpack:"mode,omitempty"`
	Size        int64  `msgpack:"size,omitempty"`
	ModTime     *Time  `msgpack:"mtime,omitempty"`
	AccessTime  *Time  `msgpack:"atime,omitempty"`
	UID         uint32 `msgpack:"uid,omitempty"`
	GID         uint32 `msgpack:"gid,omitempty"`
	Owner       string `msgpack:"owner,omitempty"`
	Group       string `msgpack:"group,omitempty"`
	Replication int    `msgpack:"repl,omitempty"`
}

// NewAttrs encodes the attributes of a that mask names.
func NewAttrs(mask pfs.AttrMask, a pfs.Attrs) Attrs {
	return Attrs{
		Mask: uint16(mask), Mode: ModeBits(a.Mode), Size: a.Size,
		ModTime: NewOptionalTime(a.ModTime), AccessTime: NewOptionalTime(a.AccessTime),
		UID: a.UID, GID: a.GID, Owner: a.Owner, Group: a.Group, Replication: a.Replication,
	}
}

// Attrs decodes a.
func (a Attrs) Attrs() (pfs.AttrMask, pfs.Attrs) {
	return pfs.AttrMask(a.Mask), pfs.Attrs{
		Mode: FileMode(a.Mode), Size: a.Size, ModTime: a.ModTime.Optional(), AccessTime: a.AccessTime.Optional(),
		UID: a.UID, GID: a.GID, Owner: a.Owner, Group: a.Group, Replication: a.Replication,
	}
}

// AttrRequest sets attributes.
type AttrRequest struct {
	Path  string `msgpack:"path"`
	Attrs Attrs  `msgpack:"attrs"`
}

// XattrRequest names an extended attribute. set-xattr also uses Value and Flags.
type XattrRequest struct {
	Path  string `msgpack:"path"`
	Name  string `msgpack:"name"`
	Value []byte `msgpack:"value,omitempty"`
	Flags uint8  `msgpack:"flags,omitempty"` // pfs.XattrFlags
}

// XattrReply is the value of an extended attribute.
type XattrReply struct {
	Value []byte `msgpack:"value"`
}

// XattrNames are the names of extended attributes.
type XattrNames struct {
	Names []string `msgpack:"names"`
}

// MknodRequest makes a special file.
type MknodRequest struct {
	Path   string `msgpack:"path"`
	Mode   uint32 `msgpack:"mode"`
	Device uint64 `msgpack:"device,omitempty"`
}

// ConcatRequest appends the files Sources to Path.
type ConcatRequest struct {
	Path    string   `msgpack:"path"`
	Sources []string `msgpack:"sources"`
}

// CapabilitiesReply is a pfs.Capabilities.
type CapabilitiesReply struct {
	Can uint64 `msgpack:"can"`
}

// LocateRequest requests the location of a part of a file.
type LocateRequest struct {
	Path   string `msgpack:"path"`
	Off    int64  `msgpack:"off"`
	Length int64  `msgpack:"len"`
}

// MaxBlocks bounds the blocks of one LocateReply, and MaxBlockHosts the hosts of a block.
const (
	MaxBlocks     = 1024
	MaxBlockHosts = 16
)

// LocateReply lists blocks. With More, further ones follow the last.
type LocateReply struct {
	Blocks []Block `msgpack:"blocks"`
	More   bool    `msgpack:"more,omitempty"`
}

// Block is a pfs.BlockLocation.
type Block struct {
	Off    int64    `msgpack:"off"`
	Length int64    `msgpack:"len"`
	Hosts  []string `msgpack:"hosts"`
}

// PathName returns the path that the request is about.
func (q AttrRequest) PathName() string   { return q.Path }
func (q XattrRequest) PathName() string  { return q.Path }
func (q MknodRequest) PathName() string  { return q.Path }
func (q ConcatRequest) PathName() string { return q.Path }
func (q LocateRequest) PathName() string { return q.Path }
