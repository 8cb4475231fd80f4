//go:build ceph

package cephfs

import (
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// loosePrefix begins the names of the files of a batch until they have their own.
const loosePrefix = pfs.BatchPrefix

// looseName is a fresh name.
func looseName(now time.Time) string { return digest.LooseName(loosePrefix, now) }

// looseSince returns when a name was made by looseName, if it was.
func looseSince(name string) (since time.Time, ok bool) { return digest.LooseSince(loosePrefix, name) }
