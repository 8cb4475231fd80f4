package localfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

var (
	// errStaleToken reports a token of another directory.
	errStaleToken = pfs.Errorf("localfs.List", "", pfs.Conflict, "the directory is another one than that of the token: list it from the start")
	// errSwapped reports a name that was replaced during an open.
	errSwapped = errors.New("it has just been replaced")
)

// kinds maps the error numbers of the system to Kinds.
//
// EIO is Other, "a failure of the machine": a retry does not repair a disk, and after a failed
// write it could seem to. NoSpace covers the lack of any resource to store something, not only
// ENOSPC. ESTALE comes from a network file system whose server was away. errors.ErrUnsupported
// covers the unsupported operations.
var kinds = map[syscall.Errno]pfs.Kind{
	syscall.ENOENT:       pfs.NotExist,
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
	syscall.ENODATA:      pfs.NoAttr,
	syscall.EMLINK:       pfs.NoSpace,
	syscall.EDQUOT:       pfs.Quota,
	syscall.EXDEV:        pfs.CrossStore,
	syscall.EINVAL:       pfs.Invalid,
	syscall.ENAMETOOLONG: pfs.Invalid,
	syscall.EILSEQ:       pfs.Invalid,
	syscall.ENXIO:        pfs.Unsupported,
	syscall.ETXTBSY:      pfs.Conflict,
	syscall.EBUSY:        pfs.Conflict,
	syscall.EMFILE:       pfs.Limit,
	syscall.ENFILE:       pfs.Limit,
	syscall.ENOMEM:       pfs.Limit,
	syscall.ESTALE:       pfs.Unavailable,
	syscall.ENOTCONN:     pfs.Unavailable,
	syscall.EHOSTDOWN:    pfs.Unavailable,
	syscall.ETIMEDOUT:    pfs.Unavailable,
	syscall.EAGAIN:       pfs.Unavailable,
	syscall.EINTR:        pfs.Unavailable,
	syscall.EIO:          pfs.Other,
}

// kindOf classifies an error of the system.
func kindOf(err error) pfs.Kind {
	var link *linkError
	var errno syscall.Errno
	switch {
	case errors.As(err, &link):
		return pfs.Symlink
	case errors.Is(err, errSwapped):
		return pfs.Conflict
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return pfs.Canceled
	case errors.As(err, &errno):
		if kind, ok := kinds[errno]; ok {
			return kind
		}
		if kind, ok := systemKinds[errno]; ok {
			return kind
		}
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
		return pfs.E(op, absolute(link.rel), pfs.Symlink, nil)
	}
	return pfs.E(op, name, kindOf(err), cause(err))
}

// full adds to err, if the disk of d is full, how much name needs and how much is free.
func (f *FS) full(op string, name pfs.Path, d dir, need int64, err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	space, serr := d.space()
	if serr != nil {
		return err
	}
	return f.noSpace(op, name, need, space)
}

// noSpace reports that name needs more than the disk has.
func (f *FS) noSpace(op string, name pfs.Path, need int64, space pfs.Space) error {
	cause := &pfs.OutOfSpace{Need: need, Free: max(0, space.Free)}
	if f.opts.FollowLinks {
		cause.Disk = name.Parent()
	}
	return pfs.E(op, name, pfs.NoSpace, cause)
}

// cause returns the part of a system error that names no path: users must not learn where the root
// is on the host.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return cause(path.Err)
	case errors.As(err, &link):
		return cause(link.Err)
	}
	return err
}

// missing reports whether err means that the name does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
