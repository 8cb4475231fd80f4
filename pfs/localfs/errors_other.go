//go:build !windows && !darwin

package localfs

import (
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// systemKinds are the numbers that only this system has.
var systemKinds map[syscall.Errno]pfs.Kind
