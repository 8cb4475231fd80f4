package auth

import (
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// MakeDir makes the directory for the files of this package, accessible only to its owner, with
// missing parents. An existing directory must not be writable by everybody, who could replace the
// accounts.
func MakeDir(dir string) error {
	const op = "auth.MakeDir"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fileError(op, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fileError(op, err)
	}
	if writableByAll(info) {
		return pfs.Errorf(op, "", pfs.Permission, "everybody can write in %s (mode %04o): chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}
