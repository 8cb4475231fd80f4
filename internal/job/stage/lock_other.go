//go:build !unix

package stage

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked")

// flock fails: jobs do not run on this system.
func flock(*os.File, bool) error { return errors.ErrUnsupported }
