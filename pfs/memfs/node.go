package memfs

import (
	"io/fs"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// node is a file, a directory or a link, according to its mode.
type node struct {
	id    uint64
	mode  fs.FileMode // type and permission bits
	mtime time.Time
	ctime time.Time // of the last change of content or attributes
	atime time.Time // as SetAttr set it; reading leaves it alone

	owner, group string
	uid, gid     uint32
	xattrs       map[string][]byte

	// parents are the directories that hold it, one for each of its names. A directory has
	// one; the root and removed or replaced nodes have none.
	parents []*node

	data    content // of a file; its pages are never changed
	version uint64  // of a file; new with every change of data
	digest  string  // of data, or empty
	madeBy  string  // ID of the upload that made it, or empty

	replication int // of a file, as SetAttr set it

	target string // of a link
	device uint64 // of a device

	dir *directory // of a directory
}

func (n *node) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

// parent returns the directory that holds the directory n, nil for the root.
func (n *node) parent() *node {
	if len(n.parents) == 0 {
		return nil
	}
	return n.parents[0]
}

// child returns the entry of a directory with the given name, or nil.
func (n *node) child(name string) *node {
	if e := n.dir.entries[name]; e != nil {
		return e.node
	}
	return nil
}

// size returns Info.Size.
func (n *node) size() int64 { return n.data.size + int64(len(n.target)) }

func (n *node) info(name string) pfs.Info {
	info := pfs.Info{
		Name: name, Size: n.size(), Mode: n.mode, ModTime: n.mtime, ChangeTime: n.ctime, AccessTime: n.atime,
		ID: n.id, Links: uint32(len(n.parents)), Owner: n.owner, Group: n.group, UID: n.uid, GID: n.gid,
		Target: n.target, Device: n.device, Replication: n.replication, Digest: n.digest,
	}
	if n.mode.IsRegular() {
		info.Version = strconv.FormatUint(n.version, 36)
	}
	return info
}

// now returns the current time without the monotonic clock, so that it can be compared with ==.
func now() time.Time { return time.Now().Round(0) }

// mtimeOr returns t without the monotonic clock, and now for the zero time.
func mtimeOr(t time.Time) time.Time {
	if t.IsZero() {
		return now()
	}
	return t.Round(0)
}
