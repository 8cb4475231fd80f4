package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// errnos says what system errors mean, where package fs has no word for it.
var errnos = map[syscall.Errno]pfs.Kind{
	syscall.ENOTEMPTY:    pfs.NotEmpty,
	syscall.EISDIR:       pfs.IsDir,
	syscall.ENOTDIR:      pfs.NotDir,
	syscall.ELOOP:        pfs.Symlink,
	syscall.EXDEV:        pfs.CrossStore,
	syscall.EROFS:        pfs.ReadOnly,
	syscall.ENOSPC:       pfs.NoSpace,
	syscall.EDQUOT:       pfs.Quota,
	syscall.EFBIG:        pfs.NoSpace,
	syscall.EMFILE:       pfs.Limit,
	syscall.ENFILE:       pfs.Limit,
	syscall.EINVAL:       pfs.Invalid,
	syscall.ENAMETOOLONG: pfs.Invalid,
}

// kindOf classifies an error of an afero.Fs.
func kindOf(err error) pfs.Kind {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if k, ok := errnos[errno]; ok {
			return k
		}
	}
	switch {
	case errors.Is(err, afero.ErrNoSymlink), errors.Is(err, afero.ErrNoReadlink):
		return pfs.Unsupported
	case errors.Is(err, afero.ErrFileClosed):
		return pfs.Closed
	}
	return pfs.KindOf(err)
}

// fail makes err, which an afero.Fs returned, an error about name; nil stays nil.
func fail(op string, name pfs.Path, err error) error {
	if err == nil {
		return nil
	}
	return pfs.E(op, name, kindOf(err), cause(err))
}

// cause drops the paths that the libraries add: they are names on the machine of
// the store, which its users need not know.
func cause(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	case *os.SyscallError:
		return e.Err
	}
	return err
}
