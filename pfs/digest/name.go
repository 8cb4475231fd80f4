package digest

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// NameTag returns a hash of a file's name, of 16 characters however long that is. A store writes it into the names
// of temporaries that belong to the file.
func NameTag(name string) string {
	sum := Leaf([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// StagedName names the staged write id of the file base, beside it. It is tied to base, so that an ID belongs to
// one file.
func StagedName(base, id string) string { return pfs.StagedPrefix + NameTag(base) + "-" + id }

// LooseAge is how long a store may have something under a loose name, which it has for one call only: the timeouts
// of what such a call asks its cluster add up to less. Nobody goes on with what is older.
const LooseAge = 10 * time.Minute

// LooseName is a fresh loose name: prefix, the time in seconds, and an ID. The time is in the name, since what has
// the name may be given the time of another file.
func LooseName(prefix string, now time.Time) string {
	return prefix + strconv.FormatInt(now.Unix(), 36) + "-" + pfs.NewID()
}

// LooseSince returns when a name was made by LooseName with this prefix, if it was.
func LooseSince(prefix, name string) (since time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	at, id, found := strings.Cut(rest, "-")
	if !ok || !found || strings.Contains(id, "-") {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(at, 36, 64)
	return time.Unix(seconds, 0), err == nil
}
