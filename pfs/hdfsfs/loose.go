package hdfsfs

import (
	"context"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Prefixes of the temporaries of a single call. A call that is interrupted leaves them
// behind, and they are never resumed.
const (
	looseFile    = "b" // of a batch, until it has its name
	looseDir     = "d" // that is to be made
	looseRemoved = "r" // that is being removed
)

// looseName returns a new name.
func looseName(prefix string, now time.Time) string { return digest.LooseName(prefix+"-", now) }

// looseSince returns when a name was made by looseName, if it was.
func looseSince(name string) (since time.Time, ok bool) {
	for _, prefix := range []string{looseFile, looseDir, looseRemoved} {
		if since, ok = digest.LooseSince(prefix+"-", name); ok {
			return since, true
		}
	}
	return time.Time{}, false
}

// discardLoose removes a temporary that could not be published. If that fails, Sweep does.
func (f *FS) discardLoose(ctx context.Context, at string) {
	_ = f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.RemoveAll(at) })
}
