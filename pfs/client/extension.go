package client

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Extension calls a method of another part of the service, such as jobs. It writes the answer to the
// writer that begin returns. A call whose answer is cut off is repeated, and begin is then called again.
func (c *Client) Extension(ctx context.Context, method string, request []byte, begin func() io.Writer) error {
	m := message{op: "client.Extension", method: http.MethodPost, path: wire.PathCall + method, kind: wire.TypeMessage}
	m.body = func() (io.Reader, int64) { return bytes.NewReader(request), int64(len(request)) }
	return c.send(ctx, m, func(resp *http.Response, touch func()) error {
		if kind := resp.Header.Get("Content-Type"); kind != wire.TypeFrames {
			return pfs.Errorf(m.op, "", pfs.Other, "the service answered with content of type %.40q", kind)
		}
		w := begin()
		for {
			var f wire.Frame
			if err := wire.ReadFrame(resp.Body, &f); err != nil {
				return err
			}
			touch()
			if _, err := w.Write(f.Reply); err != nil {
				return pfs.E(m.op, "", pfs.KindOf(err), err) // of the caller
			}
			switch {
			case f.Error != nil:
				return f.Error.Err()
			case f.Done:
				return nil
			}
		}
	})
}
