package auth

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
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

// maxNewName is the longest name of a new account, in bytes.
const maxNewName = 64

// checkNewName explains why name cannot be that of a new account; "" if it can. It is
// stricter than CheckName: names that shells, other programs or people misread stay
// valid where they are, but no more are made.
func checkNewName(name string) string {
	switch {
	case len(name) > maxNewName:
		return fmt.Sprintf("%d bytes, the limit is %d", len(name), maxNewName)
	case strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("._-+@", r) }):
		return `only letters from a to z, digits, ".", "_", "-", "+" and "@" are allowed`
	case !isAlphanumeric(rune(name[0])) || !isAlphanumeric(rune(name[len(name)-1])):
		return "the first and the last character must be a letter or a digit"
	case strings.Trim(name, "0123456789") == "":
		return "a number would be taken for a uid"
	case slices.Contains(systemUsers, strings.ToLower(name)):
		return "a user of that name has rights of its own on machines or clusters"
	}
	return ""
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// lookalikes maps what looks like a letter to that letter, in pairs, after the table of
// confusable characters of Unicode TS 39. It holds what a new name, which is ASCII, can be
// taken for.
var lookalikes = strings.NewReplacer(
	"0", "o", "1", "l", "I", "l", "|", "l", "rn", "m", "\u0131", "i",
	"а", "a", "А", "a", "В", "b", "с", "c", "С", "c", "ԁ", "d", "е", "e", "Е", "e", "һ", "h", "Н", "h", "і", "i", "І", "l", "ј", "j", "Ј", "j",
	"К", "k", "М", "m", "о", "o", "О", "o", "р", "p", "Р", "p", "ԛ", "q", "ѕ", "s", "Ѕ", "s", "Т", "t", "ԝ", "w", "х", "x", "Х", "x", "у", "y", "У", "y",
	"α", "a", "Α", "a", "Β", "b", "Ε", "e", "Ζ", "z", "Η", "h", "ι", "i", "Ι", "l", "Κ", "k", "Μ", "m", "ν", "v", "Ν", "n", "ο", "o", "Ο", "o",
	"ρ", "p", "Ρ", "p", "σ", "o", "Τ", "t", "υ", "u", "γ", "y", "Υ", "y", "Χ", "x",
)

// skeleton maps names that people could take for one another to the same string.
func skeleton(name string) string { return foldName(lookalikes.Replace(norm.NFKC.String(name))) }

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
