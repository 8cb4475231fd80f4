package sftpfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/pkg/sftp"
)

// Codes of SSH_FXP_STATUS that pkg/sftp does not convert.
const (
	codeFailure     = 4
	codeBadMessage  = 5
	codeUnsupported = 8
)

// call does one step with the connection. Its errors have Kinds.
func (h *host) call(ctx context.Context, op string, name pfs.Path, do func(c *connection) error) error {
	if err := pfs.CheckContext(ctx, op, name); err != nil {
		return err
	}
	c, err := h.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return pfs.CheckContext(ctx, op, name)
		}
		return pfs.E(op, name, pfs.KindOf(err), errors.Unwrap(err))
	}
	return h.on(c, op, name, do)
}

// on is call for the connection c, which may be lost.
func (h *host) on(c *connection, op string, name pfs.Path, do func(c *connection) error) error {
	c.begin()
	defer c.end()
	err := do(c)
	if err == nil || err == io.EOF {
		return err
	}
	if known, ok := pfs.Known(op, name, err); ok {
		return known
	}
	if status := (*sftp.StatusError)(nil); c.lost.Load() && !errors.As(err, &status) {
		return pfs.Errorf(op, name, pfs.Unavailable, "the connection to %s was lost", h.options.Address)
	}
	return pfs.E(op, name, kindOf(err), err)
}

// kindOf classifies an error of pkg/sftp and of directories.
func kindOf(err error) pfs.Kind {
	var status *sftp.StatusError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return pfs.NotExist
	case errors.Is(err, fs.ErrPermission):
		return pfs.Permission
	case errors.Is(err, fs.ErrClosed):
		return pfs.Closed
	case errors.Is(err, sftp.ErrSSHFxConnectionLost), errors.Is(err, sftp.ErrSSHFxNoConnection),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return pfs.Unavailable
	case !errors.As(err, &status):
		return pfs.Other
	case status.Code == codeBadMessage:
		return pfs.Invalid
	case status.Code == codeUnsupported:
		return pfs.Unsupported
	}
	return pfs.Other
}

// failed reports whether err is the code for all failures that have none of their own.
func failed(err error) bool {
	var status *sftp.StatusError
	return errors.As(err, &status) && status.Code == codeFailure
}

// isAuth reports whether err says that the server accepts none of the credentials. Package ssh has no type for it.
func isAuth(err error) bool { return strings.Contains(err.Error(), "unable to authenticate") }
