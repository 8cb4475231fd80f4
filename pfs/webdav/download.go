package webdav

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	// pieceSize is the buffer of a transfer, and the most that it moves in one turn.
	pieceSize = 256 << 10

	// maxTransfers bounds the bodies and files in transit, each with a buffer; a user gets a quarter. Others wait.
	maxTransfers = 256
	waitTransfer = 10 * time.Second
)

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// transfers are the places of content in transit.
type transfers struct{ queue *fair.Queue }

func newTransfers() *transfers { return &transfers{fair.New(maxTransfers)} }

// begin waits for a place. The caller calls end once.
func (t *transfers) begin(q *request) (end func(), err error) {
	ctx, cancel := context.WithTimeout(q.Context(), waitTransfer)
	defer cancel()
	end, err = t.queue.Take(ctx, fair.Claim{Key: q.session.User().Name, Share: maxTransfers / 4})
	if err != nil {
		return nil, pfs.Errorf("webdav.begin", q.name, pfs.Limit, "too many uploads and downloads are in progress, try again")
	}
	return end, nil
}

// body is a request's body at a least rate.
type body struct {
	io.ReadCloser
	pace    pace.Pace
	unknown bool // its length
}

func newBody(w http.ResponseWriter, r *http.Request) *body {
	return &body{r.Body, pace.OfBody(w, max(0, r.ContentLength)), r.ContentLength < 0}
}

func (b *body) Read(p []byte) (int, error) {
	b.pace.Next()
	n, err := b.ReadCloser.Read(p)
	if b.unknown {
		b.pace.More(n)
	}
	if err == io.EOF {
		b.pace.Done()
	}
	return n, err
}

// waiting calls do, whose time is not the client's if the client has a pace.
func waiting(p *pace.Pace, do func() error) error {
	if p == nil {
		return do()
	}
	return p.Wait(do)
}

// get serves GET and HEAD, with ranges and conditions.
func (q *request) get(w http.ResponseWriter) error {
	end, err := q.h.transfers.begin(q)
	if err != nil {
		return err
	}
	defer end()
	var f pfs.File
	err = q.do("open", func(ctx context.Context, fsys pfs.FileSystem) error {
		f, err = fsys.Open(ctx, q.name)
		return err
	})
	if err != nil {
		if is(err, pfs.IsDir) {
			w.Header().Set("Allow", methods)
			err = &statusError{http.StatusMethodNotAllowed, err}
		}
		return err
	}
	defer f.Close()
	info := f.Info()
	w.Header().Set("ETag", gateway.ETag(info))
	w.Header().Set("Content-Type", contentType(info))
	c := newContent(q, f)
	answer := pace.OfAnswer(w, info.Size)
	c.pace = &answer
	http.ServeContent(w, q.Request, "", info.ModTime, c)
	if c.err != nil {
		panic(http.ErrAbortHandler) // the answer must not look whole
	}
	return nil
}

// contentType returns the type by the name of a file.
func contentType(info pfs.Info) string {
	if t := mime.TypeByExtension(path.Ext(info.Name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// content reads a file in the user's turns.
type content struct {
	q    *request
	f    pfs.File
	pace *pace.Pace // of the client that gets the bytes, or nil
	off  int64      // of the next Read
	buf  []byte
	at   int64 // of buf
	err  error // of the file
}

func newContent(q *request, f pfs.File) *content { return &content{q: q, f: f} }

func (c *content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.off < c.at || c.off >= c.at+int64(len(c.buf)) {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buf[c.off-c.at:])
	c.off += int64(n)
	return n, nil
}

// fill reads the next piece.
func (c *content) fill() error {
	if c.off >= c.f.Info().Size {
		return io.EOF
	}
	if c.buf == nil {
		c.buf = make([]byte, 0, min(pieceSize, c.f.Info().Size))
	}
	p := c.buf[:min(pieceSize, c.f.Info().Size-c.off)]
	var n int
	err := waiting(c.pace, func() (err error) {
		n, err = gateway.ReadAt(c.q.Context(), c.q.session, c.f, p, c.off)
		return err
	})
	c.buf, c.at = p[:n], c.off
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		err = pfs.Errorf("webdav.fill", c.q.name, pfs.Integrity, "the file ends at byte %d of %d", c.off+int64(n), c.f.Info().Size)
	}
	c.err = err
	return err
}

// Seek sets the offset of the next Read.
func (c *content) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += c.off
	case io.SeekEnd:
		off += c.f.Info().Size
	}
	if off < 0 {
		return 0, pfs.Errorf("webdav.Seek", c.q.name, pfs.Invalid, "offset %d", off)
	}
	c.off = off
	return off, nil
}
