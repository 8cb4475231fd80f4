//go:build ceph

package cephfs

import (
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// newBatchTemp returns a fresh name for a file of a batch that has no name yet.
func newBatchTemp(now time.Time) string { return digest.TempName(pfs.BatchPrefix, now) }

// batchTempSince returns when newBatchTemp made name, if it did.
func batchTempSince(name string) (since time.Time, ok bool) {
	return digest.TempSince(pfs.BatchPrefix, name)
}
