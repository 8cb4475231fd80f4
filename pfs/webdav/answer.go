package webdav

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// statusError is an error with a status of its own.
type statusError struct {
	status int
	error
}

func (e *statusError) Unwrap() error { return e.error }

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	var own *statusError
	if errors.As(err, &own) {
		return own.status
	}
	return wire.StatusOf(pfs.KindOf(err))
}

// refuse answers err.
func refuse(w http.ResponseWriter, err error) {
	pace.Linger(w)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pace.Stall))
	h := w.Header()
	switch pfs.KindOf(err) {
	case pfs.Unauthenticated:
		h.Set("WWW-Authenticate", `Basic realm="pfs", charset="UTF-8"`)
	case pfs.Limit, pfs.Unavailable:
		h.Set("Retry-After", strconv.Itoa(auth.SecondsToWait(err)))
	}
	text := err.Error() + "\n"
	if e := new(pfs.Error); !errors.As(err, &e) {
		text = pfs.KindOf(err).Error() + "\n" // the text of other errors may be confidential
	}
	h.Del("ETag")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(statusOf(err))
	_, _ = w.Write([]byte(text)) // the client has left
}

// answer is the answer of x/net/webdav. If the tree has failed, the status is that of its error, and not one that
// says that something is missing.
type answer struct {
	http.ResponseWriter
	q       *request
	refused bool // the answer is complete; what x/net/webdav writes is not sent
}

func (a *answer) WriteHeader(status int) {
	if status >= 400 && a.q.failed != nil {
		a.refused = true
		refuse(a.ResponseWriter, a.q.failed)
		return
	}
	if status >= 400 {
		pace.Linger(a.ResponseWriter)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.refused {
		return len(p), nil
	}
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(pace.Stall))
	return a.ResponseWriter.Write(p)
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
