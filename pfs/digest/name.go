package digest

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// NameTag returns a hash of a file's name in 16 characters. Stores put it into the names of the file's
// temporaries.
func NameTag(name string) string {
	sum := Leaf([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// StagedName returns the name of the temporary that holds the upload id of the file base, in the same
// directory.
func StagedName(base, id string) string { return pfs.StagedPrefix + NameTag(base) + "-" + id }

// TempAge is the age from which the temporaries of a single call are abandoned. The timeouts of such a
// call's requests to the cluster add up to less.
const TempAge = 10 * time.Minute

// TempName returns a new name for a temporary of a single call: prefix, the time in seconds, and an ID.
// The time is in the name because the file may get the modification time of another file.
func TempName(prefix string, now time.Time) string {
	return prefix + strconv.FormatInt(now.Unix(), 36) + "-" + pfs.NewID()
}

// TempSince returns the time at which TempName made the name, or false if it did not.
func TempSince(prefix, name string) (since time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	at, id, found := strings.Cut(rest, "-")
	if !ok || !found || strings.Contains(id, "-") {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(at, 36, 64)
	return time.Unix(seconds, 0), err == nil
}
