package wire

import (
	"errors"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
)

// Error is a pfs.Error on the wire.
type Error struct {
	Kind uint8  `msgpack:"kind"`
	Op   string `msgpack:"op"`
	Path string `msgpack:"path"`
	Text string `msgpack:"text"` // the cause, without path and kind

	// Damaged means that the bytes of the request were damaged in transit: sending them again can
	// help.
	Damaged bool `msgpack:"damaged,omitempty"`

	// Held means that the user has used up a limit, such as that of handles: waiting does not help.
	Held bool `msgpack:"held,omitempty"`
}

var (
	// ErrDamaged is in the chain of an Integrity error that arose in transit.
	ErrDamaged = errors.New("damaged in transit")
	// ErrHeld is in the chain of a Limit error that lasts until the user releases something, such as a handle.
	ErrHeld = errors.New("close some, or end the programs that have them open")
)

// NewError encodes err. It includes only the text of a pfs.Error; of any other error the peer gets
// only the Kind, since the text may be confidential.
func NewError(err error) Error {
	var e *pfs.Error
	if !errors.As(err, &e) {
		return Error{Kind: uint8(pfs.KindOf(err))}
	}
	return Error{Kind: uint8(e.Kind), Op: e.Op, Path: string(e.Path), Text: e.Cause(), Damaged: errors.Is(err, ErrDamaged), Held: errors.Is(err, ErrHeld)}
}

// Err decodes e.
func (e Error) Err() error {
	kind := pfs.Kind(e.Kind)
	if int(e.Kind) >= len(pfs.Kinds()) {
		kind = pfs.Other
	}
	out := &pfs.Error{Op: e.Op, Path: pfs.Path(e.Path), Kind: kind}
	switch {
	case e.Damaged:
		out.Err = &marked{e.Text, ErrDamaged}
	case e.Held:
		out.Err = &marked{e.Text, ErrHeld}
	case e.Text != "":
		out.Err = errors.New(e.Text)
	}
	return out
}

// marked is the text of an error that has ErrDamaged or ErrHeld in its chain.
type marked struct {
	text string
	mark error
}

func (m *marked) Error() string { return m.text }
func (m *marked) Unwrap() error { return m.mark }

// statuses maps Kinds to HTTP statuses.
var statuses = map[pfs.Kind]int{
	pfs.Other:           http.StatusInternalServerError,
	pfs.Invalid:         http.StatusBadRequest,
	pfs.NotExist:        http.StatusNotFound,
	pfs.Exist:           http.StatusConflict,
	pfs.Permission:      http.StatusForbidden,
	pfs.Unauthenticated: http.StatusUnauthorized,
	pfs.IsDir:           http.StatusConflict,
	pfs.NotDir:          http.StatusConflict,
	pfs.NotEmpty:        http.StatusConflict,
	pfs.Symlink:         http.StatusConflict,
	pfs.CrossStore:      http.StatusConflict,
	pfs.Unsupported:     http.StatusNotImplemented,
	pfs.ReadOnly:        http.StatusForbidden,
	pfs.NoSpace:         http.StatusInsufficientStorage,
	pfs.Quota:           http.StatusInsufficientStorage,
	pfs.Conflict:        http.StatusPreconditionFailed,
	pfs.Unavailable:     http.StatusServiceUnavailable,
	pfs.Limit:           http.StatusTooManyRequests,
	pfs.Integrity:       http.StatusUnprocessableEntity,
	pfs.Canceled:        499, // the client closed the request: the status that other servers log
	pfs.Closed:          http.StatusGone,
	pfs.Stale:           http.StatusGone,
	pfs.NoAttr:          http.StatusNotFound,
}

// StatusOf returns the HTTP status for a Kind.
func StatusOf(k pfs.Kind) int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// KindOfStatus classifies a response without an Error message, which comes from a proxy between
// client and service.
func KindOfStatus(status int) pfs.Kind {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return pfs.Unavailable
	case http.StatusTooManyRequests:
		return pfs.Limit
	case http.StatusRequestEntityTooLarge:
		return pfs.Invalid
	}
	return pfs.Other
}
