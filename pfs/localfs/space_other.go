//go:build unix && !linux && !darwin

package localfs

import (
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// spaceOf describes the file system that holds path.
func spaceOf(string) (pfs.Space, error) { return pfs.Space{}, errors.ErrUnsupported }
