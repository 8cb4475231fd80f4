//go:build !linux

package localfs

// openTop opens the directory at path.
func openTop(path string, follow bool) (dir, error) { return openRoot(path, follow) }
