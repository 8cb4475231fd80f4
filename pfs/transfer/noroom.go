package transfer

import (
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// noRoom is the smallest file that did not fit into a directory, because of a quota or a full
// disk. Files of that size or more are not tried there.
type noRoom struct{ smallest atomic.Pointer[misfit] }

// misfit is a file that did not fit.
type misfit struct {
	name pfs.Path
	size int64
	kind pfs.Kind
}

// isFull reports whether an error of this Kind means that space or quota is used up.
func isFull(kind pfs.Kind) bool { return kind == pfs.NoSpace || kind == pfs.Quota }

// note records that it did not fit.
func (n *noRoom) note(it *item, kind pfs.Kind) {
	m := &misfit{it.target.Path, it.info.Size, kind}
	for {
		old := n.smallest.Load()
		if old != nil && old.size <= m.size || n.smallest.CompareAndSwap(old, m) {
			return
		}
	}
}

func (r *run) noRoomFor(it *item) *noRoom {
	if it.dir == nil {
		return &r.noRoom
	}
	return &it.dir.noRoom
}

// lacksRoom reports whether an item would not fit. If so, it reports the item as failed.
func (r *run) lacksRoom(it *item) bool {
	m := r.noRoomFor(it).smallest.Load()
	if m == nil || it.info.Size < m.size {
		return false
	}
	r.failItem(it, pfs.Errorf("transfer.Copy", it.target.Path, m.kind, "not tried, after %s of %d bytes did not fit", m.name, m.size))
	return true
}
