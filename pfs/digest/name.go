package digest

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// NameTag returns a hash, of 16 characters, of a file's name. A store writes it into the names of
// temporaries that belong to the file.
func NameTag(name string) string {
	sum := Leaf([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// StagedName returns the name of the upload id of the file base, beside it. It depends on base, so
// an ID belongs to one file.
func StagedName(base, id string) string { return pfs.StagedPrefix + NameTag(base) + "-" + id }

// LooseAge is how long a store may use a loose name, which lasts for one call: the timeouts of the
// cluster requests of such a call add up to less. Older ones are abandoned.
const LooseAge = 10 * time.Minute

// LooseName returns a fresh loose name: prefix, the time in seconds, and an ID. The time is in the
// name because the file may get the time of another file.
func LooseName(prefix string, now time.Time) string {
	return prefix + strconv.FormatInt(now.Unix(), 36) + "-" + pfs.NewID()
}

// LooseSince returns the time when LooseName made a name with this prefix, or false.
func LooseSince(prefix, name string) (since time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	at, id, found := strings.Cut(rest, "-")
	if !ok || !found || strings.Contains(id, "-") {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(at, 36, 64)
	return time.Unix(seconds, 0), err == nil
}
