package hdfsfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// Prefixes of the temporaries of a single call. An interrupted call leaves them behind; they
// are never resumed.
const (
	tempFile = "b" // a file of a batch, before it is renamed
	tempDir  = "d" // a new directory, before it is renamed
)

// temporaryName returns a new name for a temporary.
func temporaryName(prefix string, now time.Time) string { return digest.TempName(prefix+"-", now) }

// temporarySince returns the time at which temporaryName made the name, or false if it did not.
func temporarySince(name string) (since time.Time, ok bool) {
	for _, prefix := range []string{tempFile, tempDir} {
		if since, ok = digest.TempSince(prefix+"-", name); ok {
			return since, true
		}
	}
	return time.Time{}, false
}

// discardTemporary removes a temporary that could not be published. If that fails, Sweep removes it.
func (f *FS) discardTemporary(ctx context.Context, at string) {
	_ = f.removeAll(ctx, at)
}
