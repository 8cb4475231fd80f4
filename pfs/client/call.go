package client

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// call is one call of the protocol.
type call struct {
	op, method string
	name       pfs.Path
	request    any
	reply      any              // receives the decoded reply; nil to ignore it
	progress   func(done int64) // may be nil
	observe    func(resp *http.Response, sent bool)
}

// ask makes a call that is safe to repeat.
func (c *Client) ask(ctx context.Context, op, method string, name pfs.Path, request, reply any) error {
	return c.do(ctx, call{op: op, method: method, name: name, request: request, reply: reply}, "")
}

// change makes a call that must not be executed twice. The service recognizes a repeated
// request by its ID.
func (c *Client) change(ctx context.Context, op, method string, name pfs.Path, request, reply any) error {
	return c.do(ctx, call{op: op, method: method, name: name, request: request, reply: reply}, pfs.NewID())
}

// do makes the call q, with a request ID or without one.
func (c *Client) do(ctx context.Context, q call, id string) error {
	if err := pfs.CheckPath(q.op, q.name); err != nil {
		return err
	}
	if err := pfs.CheckContext(ctx, q.op, q.name); err != nil {
		return err
	}
	if q.reply == nil {
		q.reply = &wire.Empty{}
	}
	m := message{op: q.op, name: q.name, path: wire.PathCall + q.method, id: id, observe: q.observe}
	return c.post(ctx, m, q.request, q.reply, q.progress)
}

// post sends a request message and decodes the reply message.
func (c *Client) post(ctx context.Context, m message, request, reply any, progress func(int64)) error {
	b := wire.Encode(request)
	m.method, m.kind = http.MethodPost, wire.TypeMessage
	m.body = func() (io.Reader, int64) { return bytes.NewReader(b), int64(len(b)) }
	return c.send(ctx, m, c.replyTo(m, reply, progress))
}

// replyTo returns the receiver of a reply message, sent at once or in frames.
func (c *Client) replyTo(m message, reply any, progress func(int64)) func(*http.Response, func()) error {
	return func(resp *http.Response, touch func()) error {
		switch kind := resp.Header.Get("Content-Type"); kind {
		case wire.TypeMessage:
			b, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxMessage+1))
			if err != nil {
				return err
			}
			if resp.ContentLength >= 0 && int64(len(b)) < resp.ContentLength {
				return io.ErrUnexpectedEOF
			}
			return wire.Decode(b, reply)
		case wire.TypeFrames:
			return receiveFrames(resp.Body, reply, touch, progress)
		default:
			return pfs.Errorf(m.op, m.name, pfs.Other, "the service answered with content of type %.40q", kind)
		}
	}
}

// receiveFrames reads the answer of a long call.
func receiveFrames(r io.Reader, reply any, touch func(), progress func(int64)) error {
	for {
		var f wire.Frame
		if err := wire.ReadFrame(r, &f); err != nil {
			return err
		}
		touch()
		if progress != nil {
			progress(f.Progress)
		}
		switch {
		case f.Error != nil:
			return f.Error.Err()
		case f.Done:
			return wire.Decode(f.Reply, reply)
		}
	}
}
