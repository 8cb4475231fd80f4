//go:build ceph

package cephfs

import (
	"cmp"
	"context"
	"errors"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// kinds maps the error numbers of libcephfs that posix.Kinds does not. Errors of an unreachable
// cluster are Unavailable, since a daemon that is away comes back. ESTALE means that an inode is gone.
var kinds = map[syscall.Errno]pfs.Kind{
	syscall.EOPNOTSUPP:   pfs.Unsupported,
	syscall.ENOSYS:       pfs.Unsupported,
	syscall.ESTALE:       pfs.Conflict,
	syscall.ESHUTDOWN:    pfs.Unavailable,
	syscall.ECONNREFUSED: pfs.Unavailable,
	syscall.ECONNRESET:   pfs.Unavailable,
	syscall.EHOSTUNREACH: pfs.Unavailable,
	syscall.ENETUNREACH:  pfs.Unavailable,
}

// kindOf classifies an error of the store.
func kindOf(err error) pfs.Kind {
	var full *noSpace
	var errno syscall.Errno
	switch {
	case errors.As(err, &full):
		return pfs.NoSpace
	case errors.Is(err, errGone), errors.Is(err, errAbandoned):
		return pfs.Unavailable
	case errors.As(err, &errno):
		return cmp.Or(posix.Kinds[errno], kinds[errno], pfs.Other)
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
	return pfs.E(op, name, kindOf(err), err)
}

// missing reports whether err means that the name does not exist.
func missing(err error) bool { return errors.Is(err, syscall.ENOENT) || errors.Is(err, pfs.NotExist) }
