package aferofs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// errnos maps system errors for which package fs has no sentinel.
var errnos = map[syscall.Errno]pfs.Kind{
	syscall.ENOTEMPTY:    pfs.NotEmpty,
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
	if errors.Is(err, afero.ErrFileClosed) {
		return pfs.Closed
	}
	return pfs.KindOf(err)
}

// fail makes err, which an afero.Fs returned, an error about name. It does not change nil, io.EOF
// and errors of this package.
func fail(op string, name pfs.Path, err error) error {
	if _, ok := err.(*pfs.Error); ok || err == nil || err == io.EOF {
		return err
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
