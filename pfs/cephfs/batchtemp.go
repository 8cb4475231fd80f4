//go:build ceph

package cephfs

import (
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// batchPrefix begins the names of the files of a batch until they have their own. It is
// none of a staged write, which go on with 16 digits.
const batchPrefix = pfs.TempPrefix + "up-b-"

// batchAge is how long a file of a batch may be without its name: the timeouts of what is
// asked until then add up to less. Nobody goes on with it after that.
const batchAge = 10 * time.Minute

// batchName is a fresh name. It has the time in seconds, since the file is given the time
// of another one before it has its name.
func batchName(now time.Time) string {
	return batchPrefix + strconv.FormatInt(now.Unix(), 36) + "-" + pfs.NewID()
}

// batchSince returns when a name was made by batchName, if it was.
func batchSince(name string) (since time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, batchPrefix)
	first, _, ok2 := strings.Cut(rest, "-")
	seconds, err := strconv.ParseInt(first, 36, 64)
	return time.Unix(seconds, 0), ok && ok2 && err == nil
}

// sweepable reports whether Sweep removes the staged file e, which was written to before
// the time that it asks about or not.
func sweepable(e entry, before time.Time) bool {
	if since, ok := batchSince(e.name); ok {
		return time.Since(since) >= batchAge
	}
	return !e.st.mtime.After(before)
}
