package client

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// headSize is how much of a file comes with Open: a small file costs one round trip.
const headSize = 64 << 10

// file is an open file: its description and its first bytes.
type file struct {
	c      *Client
	name   pfs.Path
	info   pfs.Info
	head   []byte
	closed atomic.Bool
}

// Open opens name for reading.
func (c *Client) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "client.Open"
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	if err := pfs.CheckContext(ctx, op, name); err != nil {
		return nil, err
	}
	f := &file{c: c, name: name}
	m := dataMessage(op, http.MethodGet, wire.PathData, name, 0)
	m.query.Set("len", strconv.Itoa(headSize))
	m.query.Set("info", "1")
	err := c.send(ctx, m, func(resp *http.Response, touch func()) error {
		b, err := base64.StdEncoding.DecodeString(resp.Header.Get(wire.HeaderInfo))
		if err != nil {
			return pfs.Errorf(op, name, pfs.Other, "header %s: %w", wire.HeaderInfo, err)
		}
		var info wire.Info
		if err := wire.Decode(b, &info); err != nil {
			return err
		}
		f.info = info.Info()
		f.head = make([]byte, max(0, min(headSize, f.info.Size)))
		return receiveChunk(resp, touch, f.head)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// dataMessage is a request for, or with, the chunk at off.
func dataMessage(op, method, path string, name pfs.Path, off int64) message {
	q := url.Values{"path": {string(name)}, "off": {strconv.FormatInt(off, 10)}}
	return message{op: op, name: name, method: method, path: path, query: q}
}

// receiveChunk reads a chunk of exactly len(p) bytes. If it ends early, the trailer may hold the
// service's error.
func receiveChunk(resp *http.Response, touch func(), p []byte) error {
	if want := int64(len(p) + wire.SumSize); resp.ContentLength >= 0 && resp.ContentLength != want {
		return pfs.Errorf("client.receiveChunk", "", pfs.Integrity, "chunk of %d bytes came as %d", want, resp.ContentLength)
	}
	err := wire.ReadChunk(&touching{resp.Body, touch}, p)
	if told := wire.ErrorOf(resp.Trailer); err != nil && told != nil {
		return told
	}
	return err
}

// ReadAt reads the version that Open found.
func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "client.File.ReadAt"
	if f.closed.Load() {
		return 0, pfs.E(op, f.name, pfs.Closed, nil)
	}
	if err := pfs.CheckRange(op, f.name, off, len(p)); err != nil {
		return 0, err
	}
	if err := pfs.CheckContext(ctx, op, f.name); err != nil {
		return 0, err
	}
	want := p[:max(0, min(int64(len(p)), f.info.Size-off))]
	if off < int64(len(f.head)) {
		n = copy(want, f.head[off:])
	}
	k, err := f.c.readAt(ctx, f.name, f.info.Version, want[n:], off+int64(n))
	n += k
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// readAt fills p from offset off, of the version if it is not empty, chunk by chunk.
func (c *Client) readAt(ctx context.Context, name pfs.Path, version string, p []byte, off int64) (int, error) {
	const op = "client.File.ReadAt"
	return pfs.InChunks(ctx, op, name, p, off, func(p []byte, off int64) (int, error) {
		if len(p) == 0 {
			return 0, nil
		}
		m := dataMessage(op, http.MethodGet, wire.PathData, name, off)
		m.trailers = true
		m.query.Set("len", strconv.Itoa(len(p)))
		if version != "" {
			m.query.Set("version", version)
		}
		err := c.send(ctx, m, func(resp *http.Response, touch func()) error { return receiveChunk(resp, touch, p) })
		if err != nil {
			return 0, err
		}
		return len(p), nil
	})
}

func (f *file) Info() pfs.Info { return f.info }

func (f *file) Close() error {
	f.closed.Store(true)
	return nil
}

func quote(s string) string { return fmt.Sprintf("%.200q", s) }
