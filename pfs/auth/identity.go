package auth

import "github.com/paddlecloud/pfs/pfs"

// Role is what an account may do beyond its own home.
type Role string

// The roles, each including the ones before.
const (
	User      Role = "user"      // own home, public for reading
	Publisher Role = "publisher" // also writes public
	Admin     Role = "admin"     // also sees every home, sets quotas, sweeps
)

// Identity is who makes a request, on the service and on the stores.
type Identity struct {
	Name     string // the account; an e-mail address, often
	Role     Role
	HDFSUser string // owner on HDFS
	UID, GID int    // owner on CephFS and local stores
}

// Owner returns who the account is on the stores; ok is false for an identity that is
// nobody there. It never is the superuser of a store by having no number.
func (id Identity) Owner() (owner pfs.Owner, ok bool) {
	if checkHDFSUser(id.HDFSUser) != "" || checkID("uid", id.UID) != "" || checkID("gid", id.GID) != "" {
		return pfs.Owner{}, false
	}
	return pfs.Owner{Name: id.HDFSUser, UID: uint32(id.UID), GID: uint32(id.GID)}, true
}
