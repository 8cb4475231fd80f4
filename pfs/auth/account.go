package auth

import (
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Account is what is known of a user, without the password.
type Account struct {
	Identity
	// Generation is a random tag that changes with the password and the role.
	Generation string
	Created    time.Time
}

// NewAccount is what Add makes an account of.
type NewAccount struct {
	Name     string
	Password string
	Role     Role   // empty means User
	HDFSUser string // empty: derived from the whole name, unique
	UID      int    // 0: the lowest free one from FirstUID up
	GID      int    // 0: the same number as UID
}

const (
	// FirstUID is where the uids of accounts begin, above those of local users.
	FirstUID = 20000
	// maxUID leaves out the numbers that mean "nobody" and "unchanged".
	maxUID = math.MaxUint32 - 2
)

// ParseRole returns the role called s.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case User, Publisher, Admin:
		return r, nil
	}
	return "", pfs.Errorf("auth.ParseRole", "", pfs.Invalid, "role %q: use %s, %s or %s", s, User, Publisher, Admin)
}

// CheckName explains why name cannot be that of an account; "" if it can. It must
// be an element of a path, since the home is named after it, and print on one
// line without surprises. ":" is left to separate names from other things, and a dot
// at the start to stores: where CephFS has ".snap" and HDFS ".snapshot", a home of that
// name would be the snapshots of all homes.
func CheckName(name string) string {
	if reason := pfs.CheckName(name); reason != "" {
		return reason
	}
	switch {
	case strings.ContainsRune(name, ':'):
		return `":" in a user name`
	case name[0] == '.':
		return `names that begin with "." are of the stores themselves, such as ".snap" and ".snapshot", which show the files of others: choose another name`
	case strings.TrimSpace(name) != name:
		return "space at the start or the end of a user name"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "control or invisible character in a user name"
	}
	return ""
}

// checkID explains why n cannot be a uid or gid. 0 is root on every store.
func checkID(what string, n int) string {
	if n < 1 || int64(n) > maxUID {
		return fmt.Sprintf("%s %d is not between 1 and %d", what, n, int64(maxUID))
	}
	return ""
}

// foldName maps names that a case-insensitive or normalizing file system, or a
// person, could take for one another to the same string: their homes could be one.
func foldName(name string) string {
	return cases.Fold().String(norm.NFKC.String(name))
}

// newGeneration returns a tag that was never there before.
func newGeneration() string { return rand.Text()[:16] }
