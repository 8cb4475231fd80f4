//go:build linux || darwin

package localfs

import (
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// fileAttributes are the extended attributes of the system.
type fileAttributes struct{}

var _ attributes = fileAttributes{}

func (fileAttributes) get(f *os.File, name string, p []byte) (n int, err error) {
	err = withFD(f, func(fd int) (err error) {
		n, err = retried(func() (int, error) { return unix.Fgetxattr(fd, name, p) })
		return err
	})
	return n, err
}

func (fileAttributes) set(f *os.File, name string, p []byte, flags pfs.XattrFlags) error {
	how := 0
	if flags&pfs.XattrCreate != 0 {
		how |= unix.XATTR_CREATE
	}
	if flags&pfs.XattrReplace != 0 {
		how |= unix.XATTR_REPLACE
	}
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fsetxattr(fd, name, p, how) })
	})
}

func (fileAttributes) list(f *os.File) (names []string, err error) {
	p, n := make([]byte, 64<<10), 0 // the most that systems list
	err = withFD(f, func(fd int) (err error) {
		n, err = retried(func() (int, error) { return unix.Flistxattr(fd, p) })
		return err
	})
	if err != nil || n == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(p[:n]), "\x00"), "\x00"), nil
}

func (fileAttributes) remove(f *os.File, name string) error {
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fremovexattr(fd, name) })
	})
}
