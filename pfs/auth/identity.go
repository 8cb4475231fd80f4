package auth

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
