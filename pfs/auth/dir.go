package auth

import (
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// MakeDir makes the directory for the files of this package, for its owner only,
// with the parents that are missing. One that is there already must not be
// writable by everybody, who could put other accounts in place of these.
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
