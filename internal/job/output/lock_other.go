//go:build !unix

package output

import "os"

// lock does nothing: jobs do not run on this system.
func lock(*os.File) (bool, error) { return true, nil }
