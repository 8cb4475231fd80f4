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

// idsOf returns the numbers of a user. It refuses 0, which is root's, and the number with which
// setattr keeps the owner.
func idsOf(op string, owner pfs.Owner) (ids, error) {
	for _, n := range []uint32{owner.UID, owner.GID} {
		if n == 0 || n == math.MaxUint32 {
			return ids{}, pfs.Errorf(op, "", pfs.Invalid, "%q has uid %d and gid %d: a user of a CephFS has numbers from 1 to %d",
				owner.Name, owner.UID, owner.GID, uint32(math.MaxUint32-1))
		}
	}
	return ids{owner.UID, owner.GID}, nil
}

// user is a user of libcephfs. It is freed when no call uses it any more.
type user struct {
	perms *cPerms
}

func newUser(id ids) *user {
	w := &user{perms: newPerms(id)}
	runtime.AddCleanup(w, freePerms, w.perms)
	return w
}

// user returns the user with these numbers.
func (s *store) user(id ids) *user {
	if id == (ids{}) {
		return s.root
	}
	return newUser(id)
}
