package wire

import "github.com/paddlecloud/pfs/pfs"

// Info is a pfs.Info. Attributes that are zero take no bytes.
type Info struct {
	Name    string `msgpack:"name"`
	Size    Size   `msgpack:"size"`
	Mode    uint32 `msgpack:"mode"`
	Time    Time   `msgpack:"time"`
	Owner   string `msgpack:"owner,omitempty"`
	Group   string `msgpack:"group,omitempty"`
	Target  string `msgpack:"target,omitempty"`
	Version string `msgpack:"version,omitempty"`
	Digest  string `msgpack:"digest,omitempty"`

	// Brief removes the fields below.
	ID          uint64 `msgpack:"id,omitempty"`
	Links       uint32 `msgpack:"links,omitempty"`
	UID         uint32 `msgpack:"uid,omitempty"`
	GID         uint32 `msgpack:"gid,omitempty"`
	ChangeTime  *Time  `msgpack:"ctime,omitempty"`
	AccessTime  *Time  `msgpack:"atime,omitempty"`
	Replication int    `msgpack:"repl,omitempty"`
	BlockSize   int64  `msgpack:"block,omitempty"`
	Device      uint64 `msgpack:"device,omitempty"`
}

// NewInfo encodes i.
func NewInfo(i pfs.Info) Info {
	return Info{
		Name: i.Name, Size: Size(i.Size), Mode: ModeBits(i.Mode), Time: NewTime(i.ModTime),
		Owner: i.Owner, Group: i.Group, Target: i.Target, Version: i.Version, Digest: i.Digest,
		ID: i.ID, Links: i.Links, UID: i.UID, GID: i.GID,
		ChangeTime: NewOptionalTime(i.ChangeTime), AccessTime: NewOptionalTime(i.AccessTime),
		Replication: i.Replication, BlockSize: i.BlockSize, Device: i.Device,
	}
}

// Info decodes i.
func (i Info) Info() pfs.Info {
	return pfs.Info{
		Name: i.Name, Size: int64(i.Size), Mode: FileMode(i.Mode), ModTime: i.Time.Time(),
		Owner: i.Owner, Group: i.Group, Target: i.Target, Version: i.Version, Digest: i.Digest,
		ID: i.ID, Links: i.Links, UID: i.UID, GID: i.GID,
		ChangeTime: i.ChangeTime.Optional(), AccessTime: i.AccessTime.Optional(),
		Replication: i.Replication, BlockSize: i.BlockSize, Device: i.Device,
	}
}

// Brief returns i without the attributes that most listings do not show.
func (i Info) Brief() Info {
	i.ID, i.Links, i.UID, i.GID, i.Replication, i.BlockSize, i.Device = 0, 0, 0, 0, 0, 0, 0
	i.ChangeTime, i.AccessTime = nil, nil
	return i
}
