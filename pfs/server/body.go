package server

import (
	"net/http"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// linger is how long net/http may wait for the unread rest of a body before it sends an answer
// and closes the connection.
const linger = time.Second

// giveUp bounds the wait for the unread rest of a body: net/http reads it before it sends an
// answer.
func giveUp(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// body reads the request's message of at most limit bytes.
func body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	const op = "server.body"
	switch n := r.ContentLength; {
	case n < 0:
		return nil, pfs.Errorf(op, "", pfs.Invalid, "the request states no Content-Length")
	case n > limit:
		return nil, pfs.Errorf(op, "", pfs.Invalid, "message of %d bytes, the limit is %d", n, limit)
	}
	p := pace.OfBody(w, r.ContentLength)
	p.Next()
	b, err := wire.ReadMessage(r.Body, r.ContentLength)
	if err != nil {
		return nil, received(op, "", err)
	}
	p.Done()
	return b, nil
}

// received classifies an error of reading a body: every error that is not a mistake of the sender
// is an error of the connection.
func received(op string, name pfs.Path, err error) error {
	if k := pfs.KindOf(err); k == pfs.Integrity || k == pfs.Invalid {
		return err
	}
	return pfs.Errorf(op, name, pfs.Unavailable, "the request broke off: %w", err)
}
