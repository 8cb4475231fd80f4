package hdfsfs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Prefixes of what lies beside the staged writes while one call is made. A call that is
// cut off leaves it, and nobody goes on with it.
const (
	looseFile    = "b" // of a batch, until it has its name
	looseDir     = "d" // that is to be made
	looseRemoved = "r" // that is being removed
)

// looseAge is how long a call may take that has something loose: the timeouts of what it
// asks the cluster add up to less.
const looseAge = 10 * time.Minute

// looseName is a fresh name. It has the time in seconds, since what has the name may be
// given the time of another file.
func looseName(prefix string, now time.Time) string {
	return prefix + "-" + strconv.FormatInt(now.Unix(), 36) + "-" + pfs.NewID()
}

// looseSince returns when a name was made by looseName, if it was.
func looseSince(name string) (since time.Time, ok bool) {
	fields := strings.Split(name, "-")
	if len(fields) != 3 || !slices.Contains([]string{looseFile, looseDir, looseRemoved}, fields[0]) {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(fields[1], 36, 64)
	return time.Unix(seconds, 0), err == nil
}
