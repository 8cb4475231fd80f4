//go:build ceph

package cephfs

import (
	"math"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
)

// ids are the numbers of a user. The zero value is root of the store.
type ids struct {
	uid, gid uint32
}

// idsOf returns the numbers of a user. Nobody is root by having no number, or changes nothing by having
// the one that means so.
func idsOf(op string, owner pfs.Owner) (ids, error) {
	for _, n := range []uint32{owner.UID, owner.GID} {
		if n == 0 || n == math.MaxUint32 {
			return ids{}, pfs.Errorf(op, "", pfs.Invalid, "%q has uid %d and gid %d: a user of a CephFS has numbers from 1 to %d",
				owner.Name, owner.UID, owner.GID, uint32(math.MaxUint32-1))
		}
	}
	return ids{owner.UID, owner.GID}, nil
}

// who is a user as libcephfs takes it. It is freed when no call has it any more.
type who struct {
	perms *cPerms
}

func newWho(id ids) *who {
	w := &who{perms: newPerms(id)}
	runtime.AddCleanup(w, freePerms, w.perms)
	return w
}

// who returns the user id.
func (s *store) who(id ids) *who {
	if id == (ids{}) {
		return s.root
	}
	return newWho(id)
}
