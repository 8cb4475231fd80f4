package auth

import "github.com/paddlecloud/pfs/pfs"

// Role determines what an account may do beyond its own home.
type Role string

// The roles. Each includes the ones before.
const (
	User      Role = "user"      // own home, reads public
	Publisher Role = "publisher" // also writes public
	Admin     Role = "admin"     // also sees every home, sets quotas, sweeps
)

// Identity is the identity of a user on the service and on the stores.
type Identity struct {
	Name     string `yaml:"name"` // the account; often an e-mail address
	Role     Role   `yaml:"role,omitempty"`
	HDFSUser string `yaml:"hdfs_user"` // owner on HDFS
	UID      int    `yaml:"uid"`       // owner on CephFS and local stores
	GID      int    `yaml:"gid"`
}

// Owner returns the identity on the stores; ok is false if there is none. A missing number never
// means the superuser of a store.
func (id Identity) Owner() (owner pfs.Owner, ok bool) {
	if checkHDFSUser(id.HDFSUser) != "" || checkID("uid", id.UID) != "" || checkID("gid", id.GID) != "" {
		return pfs.Owner{}, false
	}
	return pfs.Owner{Name: id.HDFSUser, UID: uint32(id.UID), GID: uint32(id.GID)}, true
}
