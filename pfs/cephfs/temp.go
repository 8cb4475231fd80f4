//go:build ceph

package cephfs

import (
	"encoding/hex"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	// stagedPrefix begins the names of staged writes.
	stagedPrefix = pfs.TempPrefix + "up-"
	// removedPrefix begins the names of directories that are on the way out.
	removedPrefix = pfs.TempPrefix + "rm-"
)

// stagedName names the staged write id of the target base: a hash of base ties it
// to the target and is short, whatever the length of base.
func stagedName(base, id string) string {
	sum := digest.Leaf([]byte(base))
	return stagedPrefix + hex.EncodeToString(sum[:8]) + "-" + id
}

// isStaged reports whether name is that of a staged write.
func isStaged(name string) bool { return strings.HasPrefix(name, stagedPrefix) }

// isHidden reports whether name is one of the package's own.
func isHidden(name string) bool { return strings.HasPrefix(name, pfs.TempPrefix) }
