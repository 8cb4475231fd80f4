//go:build !windows

package localfs

import "github.com/paddlecloud/pfs/pfs"

// unfitName says why the system cannot hold name under this very name; "" if it
// can.
func unfitName(pfs.Path) string { return "" }
