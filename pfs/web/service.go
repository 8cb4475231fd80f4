package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// maxReply bounds the answers of calls, which are short here.
const maxReply = 1 << 20

// call sends a message to the service as a request of package wire from the browser's address, and decodes the
// reply. token is the access token, or empty.
func (x *Web) call(r *http.Request, path, token string, message, reply any) error {
	b := wire.Encode(message)
	to := &caught{limit: maxReply}
	if err := x.serve(r, to, http.MethodPost, path, nil, token, bytes.NewReader(b), int64(len(b))); err != nil {
		return err
	}
	got := to.body.Bytes()
	if to.header.Get("Content-Type") != wire.TypeFrames {
		return wire.Decode(got, reply)
	}
	for frames := bytes.NewReader(got); ; {
		var f wire.Frame
		if err := wire.ReadFrame(frames, &f); err != nil {
			return err
		}
		switch {
		case f.Error != nil:
			return f.Error.Err()
		case f.Done:
			return wire.Decode(f.Reply, reply)
		}
	}
}

// serve lets the service serve a request in the place of r. The error is that of the answer.
func (x *Web) serve(r *http.Request, to *caught, method, path string, query url.Values, token string, body io.Reader, length int64) error {
	q, err := http.NewRequestWithContext(r.Context(), method, path, body)
	if err != nil {
		return pfs.E("web.serve", "", pfs.Other, err)
	}
	q.URL.RawQuery = query.Encode()
	q.ContentLength, q.RemoteAddr, q.Host, q.TLS = length, r.RemoteAddr, r.Host, r.TLS
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	to.header = http.Header{}
	x.cfg.Service.ServeHTTP(to, q)
	switch {
	case to.tooLong:
		return pfs.Errorf("web.serve", "", pfs.Other, "the answer of the service is longer than %d bytes", to.limit)
	case to.status < http.StatusBadRequest:
		return nil
	}
	var e wire.Error
	if err := wire.Decode(to.body.Bytes(), &e); err != nil {
		return errors.Join(pfs.E("web.serve", "", wire.KindOfStatus(to.status), nil), err)
	}
	return e.Err()
}

// caught is an answer of the service that is kept here. Its deadlines are those of the browser's connection.
type caught struct {
	below   http.ResponseWriter // nil if deadlines do not matter
	header  http.Header
	status  int
	limit   int
	sink    io.Writer // takes the body instead, if not nil and the answer is no error
	body    bytes.Buffer
	tooLong bool
}

func (c *caught) Header() http.Header         { return c.header }
func (c *caught) Flush()                      {}
func (c *caught) Unwrap() http.ResponseWriter { return c.below }

func (c *caught) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

func (c *caught) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.sink != nil && c.status < http.StatusBadRequest {
		return c.sink.Write(p)
	}
	if c.body.Len()+len(p) > c.limit {
		c.tooLong = true
		return 0, pfs.Errorf("web.Write", "", pfs.Other, "the answer is too long")
	}
	return c.body.Write(p)
}
