//go:build !windows

package localfs

import "github.com/paddlecloud/pfs/pfs"

// unfitName returns why the system cannot hold a file of exactly this name; "" if it can.
func unfitName(pfs.Path) string { return "" }
