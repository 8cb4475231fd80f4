//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// errStaleToken reports a token of another directory.
var errStaleToken = pfs.Errorf("cephfs.List", "", pfs.Conflict, "the directory is another one than that of the token: list it from the start")

// kinds maps the error numbers of libcephfs to Kinds. Errors of an unreachable cluster are
// Unavailable, since a daemon that is away comes back. EIO means that an OSD cannot read what it
// has stored, ESTALE that an inode is gone.
var kinds = map[syscall.Errno]pfs.Kind{
	syscall.ENOENT:       pfs.NotExist,
	syscall.ENODATA:      pfs.NoAttr,
	syscall.ENOTDIR:      pfs.NotDir,
	syscall.EISDIR:       pfs.IsDir,
	syscall.EEXIST:       pfs.Exist,
	syscall.ENOTEMPTY:    pfs.NotEmpty,
	syscall.ELOOP:        pfs.Symlink,
	syscall.EACCES:       pfs.Permission,
	syscall.EPERM:        pfs.Permission,
	syscall.EROFS:        pfs.ReadOnly,
	syscall.ENOSPC:       pfs.NoSpace,
	syscall.EFBIG:        pfs.NoSpace,
	syscall.E2BIG:        pfs.NoSpace, // an extended attribute
	syscall.ERANGE:       pfs.NoSpace, // an extended attribute
	syscall.EMLINK:       pfs.NoSpace,
	syscall.EDQUOT:       pfs.Quota,
	syscall.EXDEV:        pfs.CrossStore,
	syscall.EINVAL:       pfs.Invalid,
	syscall.ENAMETOOLONG: pfs.Invalid,
	syscall.EOPNOTSUPP:   pfs.Unsupported,
	syscall.ENOSYS:       pfs.Unsupported,
	syscall.EBUSY:        pfs.Conflict,
	syscall.ESTALE:       pfs.Conflict,
	syscall.EMFILE:       pfs.Limit,
	syscall.ENFILE:       pfs.Limit,
	syscall.ENOMEM:       pfs.Limit,
	syscall.ESHUTDOWN:    pfs.Unavailable,
	syscall.ENOTCONN:     pfs.Unavailable,
	syscall.ECONNREFUSED: pfs.Unavailable,
	syscall.ECONNRESET:   pfs.Unavailable,
	syscall.EHOSTDOWN:    pfs.Unavailable,
	syscall.EHOSTUNREACH: pfs.Unavailable,
	syscall.ENETUNREACH:  pfs.Unavailable,
	syscall.ETIMEDOUT:    pfs.Unavailable,
	syscall.EAGAIN:       pfs.Unavailable,
	syscall.EINTR:        pfs.Unavailable,
	syscall.EIO:          pfs.Other,
}

// kindOf classifies an error of the store.
func kindOf(err error) pfs.Kind {
	var link *linkError
	var full *noSpace
	var errno syscall.Errno
	switch {
	case errors.As(err, &link):
		return pfs.Symlink
	case errors.As(err, &full):
		return pfs.NoSpace
	case errors.Is(err, errGone), errors.Is(err, errAbandoned):
		return pfs.Unavailable
	case errors.As(err, &errno):
		if kind, ok := kinds[errno]; ok {
			return kind
		}
		return pfs.Other
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return pfs.Canceled
	}
	return pfs.KindOf(err)
}

// fail makes an error of package pfs about name. nil stays nil, and an error of package pfs only
// gets the parts that it lacks.
func fail(op string, name pfs.Path, err error) error {
	if known, ok := pfs.Known(op, name, err); ok {
		return known
	}
	var link *linkError
	if errors.As(err, &link) {
		return pfs.E(op, pfs.Path("/"+link.rel), pfs.Symlink, nil)
	}
	return pfs.E(op, name, kindOf(err), err)
}

// missing reports whether err means that the name does not exist.
func missing(err error) bool { return errors.Is(err, syscall.ENOENT) || errors.Is(err, pfs.NotExist) }

// unlessMissing turns the error of a missing file into nil: for a removal that is success.
func unlessMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}
