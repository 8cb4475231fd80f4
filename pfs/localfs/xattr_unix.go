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
	err = withFD(f, func(fd int) (err error) {
		n, err = unix.Fgetxattr(fd, name, p)
		return err
	})
	return n, err
}

func (fileAttributes) set(f *os.File, name string, p []byte) error {
	return withFD(f, func(fd int) error { return unix.Fsetxattr(fd, name, p, 0) })
}

func (fileAttributes) remove(f *os.File, name string) error {
	return withFD(f, func(fd int) error { return unix.Fremovexattr(fd, name) })
}

// withFD calls do with the descriptor of f, which stays open meanwhile.
func withFD(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}
