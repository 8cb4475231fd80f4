//go:build ceph

package cephfs

import (
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// batchPrefix begins the names of the files of a batch until they have their own. It is
// none of a staged write, which go on with 16 digits.
const batchPrefix = pfs.TempPrefix + "up-b-"

// batchName is a fresh name.
func batchName(now time.Time) string { return digest.LooseName(batchPrefix, now) }

// batchSince returns when a name was made by batchName, if it was.
func batchSince(name string) (since time.Time, ok bool) { return digest.LooseSince(batchPrefix, name) }

// sweepable reports whether Sweep removes the staged file e, which was written to before
// the time that it asks about or not.
func sweepable(e entry, before time.Time) bool {
	if since, ok := batchSince(e.name); ok {
		return time.Since(since) >= digest.LooseAge
	}
	return !e.st.mtime.After(before)
}
