package localfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// kinds is the one table of what the operating system answers.
var kinds = map[syscall.Errno]pfs.Kind{
	syscall.ENOENT:       pfs.NotExist,
	syscall.ENOTDIR:      pfs.NotDir,
	syscall.EISDIR:       pfs.IsDir,
	syscall.EEXIST:       pfs.Exist,
	syscall.ENOTEMPTY:    pfs.NotEmpty,
	syscall.EACCES:       pfs.Permission,
	syscall.EPERM:        pfs.Permission,
	syscall.EROFS:        pfs.ReadOnly,
	syscall.ENOSPC:       pfs.NoSpace,
	syscall.EDQUOT:       pfs.Quota,
	syscall.EXDEV:        pfs.CrossStore,
	syscall.ELOOP:        pfs.Symlink,
	syscall.EINVAL:       pfs.Invalid,
	syscall.ENAMETOOLONG: pfs.Invalid,
	syscall.EFBIG:        pfs.NoSpace,
	syscall.EMFILE:       pfs.Limit,
	syscall.ENFILE:       pfs.Limit,
	syscall.ENOMEM:       pfs.Limit,
	syscall.ESTALE:       pfs.Unavailable,
	syscall.ETIMEDOUT:    pfs.Unavailable,
	syscall.EAGAIN:       pfs.Unavailable,
	syscall.EBUSY:        pfs.Unavailable,
	syscall.ETXTBSY:      pfs.Unavailable,
	syscall.EOPNOTSUPP:   pfs.Unsupported,
	syscall.ENOSYS:       pfs.Unsupported,
	// A device error: the bytes are there or not, nobody can say. It is not
	// Unavailable, since asking again does not help.
	syscall.EIO: pfs.Other,
}

// kindOf classifies an error of the operating system.
func kindOf(err error) pfs.Kind {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if k, ok := kinds[errno]; ok {
			return k
		}
	}
	return pfs.KindOf(err) // what package io/fs recognizes, and else Other
}

// fail gives err, which may be nil, its Op, Path and Kind. The cause is the bare error
// number: where the store lies on the host is nobody's business.
func fail(op string, name pfs.Path, err error) error {
	if err == nil {
		return nil
	}
	var e *pfs.Error
	if errors.As(err, &e) {
		return err
	}
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	case errors.As(err, &call):
		err = call.Err
	}
	return pfs.E(op, name, kindOf(err), err)
}

// orExist makes the error about the root, which is no entry of anything, one about a
// name that is taken.
func orExist(err error, name pfs.Path) error {
	if name == pfs.Root && errors.Is(err, pfs.Invalid) {
		return pfs.E("localfs.entry", name, pfs.Exist, nil)
	}
	return err
}
