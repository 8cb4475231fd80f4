package localfs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// errSwapped reports a name that was replaced during an open.
var errSwapped = errors.New("it has just been replaced")

// kinds maps the error numbers of the system that posix.Kinds does not. ESTALE comes from a network
// file system whose server was away. errors.ErrUnsupported covers the unsupported operations.
var kinds = map[syscall.Errno]pfs.Kind{
	syscall.EILSEQ:  pfs.Invalid,
	syscall.ENXIO:   pfs.Unsupported,
	syscall.ETXTBSY: pfs.Conflict,
	syscall.ESTALE:  pfs.Unavailable,
}

// kindOf classifies an error of the system.
func kindOf(err error) pfs.Kind {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errSwapped):
		return pfs.Conflict
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return pfs.Canceled
	case errors.As(err, &errno):
		for _, kinds := range []map[syscall.Errno]pfs.Kind{posix.Kinds, kinds, systemKinds} {
			if kind, ok := kinds[errno]; ok {
				return kind
			}
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
	return pfs.E(op, name, kindOf(err), posix.Cause(err))
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

// missing reports whether err means that the name does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
