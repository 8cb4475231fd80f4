package aferofs

import (
	"cmp"
	"errors"
	"io"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/spf13/afero"
)

// kindOf classifies an error of an afero.Fs.
func kindOf(err error) pfs.Kind {
	if errors.Is(err, afero.ErrFileClosed) {
		return pfs.Closed
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return cmp.Or(posix.Kinds[errno], pfs.KindOf(err))
}

// fail makes an error of package pfs about name. It does not change nil and io.EOF.
func fail(op string, name pfs.Path, err error) error {
	if err == io.EOF {
		return err
	}
	if known, ok := pfs.Known(op, name, err); ok {
		return known
	}
	return pfs.E(op, name, kindOf(err), posix.Cause(err))
}
