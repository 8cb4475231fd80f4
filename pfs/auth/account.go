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

// Account describes a user, without the password.
type Account struct {
	Identity
	// Generation is a random tag that changes with the password and the role.
	Generation string
	Created    time.Time
}

// NewAccount describes the account that Add makes.
type NewAccount struct {
	Name     string
	Password string
	Role     Role   // empty means User
	HDFSUser string // empty: derived from the whole name, unique
	UID      int    // 0: the lowest free one, at least FirstUID
	GID      int    // 0: the same number as UID
}

const (
	// FirstUID is the first uid of accounts, above those of local users.
	FirstUID = 20000
	// maxUID excludes the numbers that mean "nobody" and "unchanged".
	maxUID = math.MaxUint32 - 2
)

// ParseRole returns the role named s.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case User, Publisher, Admin:
		return r, nil
	}
	return "", pfs.Errorf("auth.ParseRole", "", pfs.Invalid, "role %q: use %s, %s or %s", s, User, Publisher, Admin)
}

// CheckName explains why name cannot name an account; "" if it can. It must be a path element,
// since the home is named after it, and printable on one line. ":" is reserved as a separator, and
// a leading dot for stores: a home named ".snap" on CephFS or ".snapshot" on HDFS would expose the
// snapshots of all homes.
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

// checkNewName explains why name cannot name a new account; "" if it can. It is stricter than
// CheckName: existing names that shells, other programs or people misread stay valid, but no new
// ones are made.
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

// lookalikes maps characters that look like a letter to that letter, in pairs, after the table of
// confusable characters of Unicode TS 39. It covers characters that a new name, which is ASCII, can
// be mistaken for.
var lookalikes = strings.NewReplacer(
	"0", "o", "1", "l", "I", "l", "|", "l", "rn", "m", "\u0131", "i",
	"а", "a", "А", "a", "В", "b", "с", "c", "С", "c", "ԁ", "d", "е", "e", "Е", "e", "һ", "h", "Н", "h", "і", "i", "І", "l", "ј", "j", "Ј", "j",
	"К", "k", "М", "m", "о", "o", "О", "o", "р", "p", "Р", "p", "ԛ", "q", "ѕ", "s", "Ѕ", "s", "Т", "t", "ԝ", "w", "х", "x", "Х", "x", "у", "y", "У", "y",
	"α", "a", "Α", "a", "Β", "b", "Ε", "e", "Ζ", "z", "Η", "h", "ι", "i", "Ι", "l", "Κ", "k", "Μ", "m", "ν", "v", "Ν", "n", "ο", "o", "Ο", "o",
	"ρ", "p", "Ρ", "p", "σ", "o", "Τ", "t", "υ", "u", "γ", "y", "Υ", "y", "Χ", "x",
)

// skeleton maps names that people could confuse to the same string.
func skeleton(name string) string { return foldName(lookalikes.Replace(norm.NFKC.String(name))) }

// checkID explains why n cannot be a uid or gid. 0 is root on every store.
func checkID(what string, n int) string {
	if n < 1 || int64(n) > maxUID {
		return fmt.Sprintf("%s %d is not between 1 and %d", what, n, int64(maxUID))
	}
	return ""
}

// foldName maps names that a case-insensitive or normalizing file system, or a person, could
// confuse to the same string: they could share one home.
func foldName(name string) string {
	return cases.Fold().String(norm.NFKC.String(name))
}

// newGeneration returns a fresh tag.
func newGeneration() string { return rand.Text()[:16] }
