package fuse

import (
	"errors"
	"syscall"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// errnos is the errno of each Kind.
var errnos = map[pfs.Kind]syscall.Errno{
	pfs.Other:           syscall.EIO,
	pfs.Invalid:         syscall.EINVAL,
	pfs.NotExist:        syscall.ENOENT,
	pfs.Exist:           syscall.EEXIST,
	pfs.Permission:      syscall.EACCES,
	pfs.Unauthenticated: syscall.EACCES,
	pfs.IsDir:           syscall.EISDIR,
	pfs.NotDir:          syscall.ENOTDIR,
	pfs.NotEmpty:        syscall.ENOTEMPTY,
	pfs.Symlink:         syscall.ELOOP,
	pfs.CrossStore:      syscall.EXDEV,
	pfs.Unsupported:     syscall.EOPNOTSUPP, // ENOSYS would end the operation for the whole mount
	pfs.ReadOnly:        syscall.EROFS,
	pfs.NoSpace:         syscall.ENOSPC,
	pfs.Quota:           syscall.EDQUOT,
	pfs.Conflict:        syscall.ESTALE,
	pfs.Unavailable:     syscall.EIO,
	pfs.Limit:           syscall.ENFILE, // too many open files, here or on a service
	pfs.Integrity:       syscall.EIO,
	pfs.Canceled:        syscall.EINTR,
	pfs.Closed:          syscall.EBADF,
	pfs.Stale:           syscall.ESTALE,
	pfs.NoAttr:          syscall.ENODATA,
}

// exact are errnos of a local store that are more specific than their Kind.
var exact = []syscall.Errno{syscall.EPERM, syscall.EMLINK, syscall.EFBIG, syscall.ENAMETOOLONG, syscall.ENXIO, syscall.EBUSY, syscall.ETXTBSY}

// statusOf returns the errno of err.
func statusOf(err error) raw.Status {
	if err == nil {
		return raw.OK
	}
	if e, ok := err.(syscall.Errno); ok {
		return raw.Status(e)
	}
	for _, e := range exact {
		if errors.Is(err, e) {
			return raw.Status(e)
		}
	}
	if e, ok := errnos[pfs.KindOf(err)]; ok {
		return raw.Status(e)
	}
	return raw.EIO
}
