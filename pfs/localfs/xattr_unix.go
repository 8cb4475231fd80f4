//go:build linux || darwin

package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileAttributes are the extended attributes of the system.
type fileAttributes struct{}

var _ attributes = fileAttributes{}

func (fileAttributes) get(f *os.File, name string, p []byte) (n int, err error) {
	err = withFD(f, func(fd int) error {
		return uninterrupted(func() (err error) {
			n, err = unix.Fgetxattr(fd, name, p)
			return err
		})
	})
	return n, err
}

func (fileAttributes) set(f *os.File, name string, p []byte) error {
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fsetxattr(fd, name, p, 0) })
	})
}

func (fileAttributes) remove(f *os.File, name string) error {
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fremovexattr(fd, name) })
	})
}
