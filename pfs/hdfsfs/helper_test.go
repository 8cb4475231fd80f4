package hdfsfs

import (
	"os"
	"path/filepath"
)

// writeLocal writes a file of this machine, and makes its directory.
func writeLocal(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}
