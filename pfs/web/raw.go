package web

import (
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// piece is the number of bytes that are read, or received, at a time.
const piece = 256 << 10

// raw sends a file, or ranges of it.
func (x *Web) raw(v *visit, name pfs.Path) error {
	f, err := v.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info := f.Info()
	h := v.w.Header()
	attach(h, name.Base(), "application/octet-stream")
	h.Set("ETag", gateway.ETag(info))
	h.Set("Cache-Control", "private, no-cache")
	// If the file cannot be read to its end, the answer is shorter than it states, and net/http cuts the connection.
	to := newSlowly(v.w)
	http.ServeContent(to, v.Request, "", info.ModTime, &content{v: v, f: f, to: to, size: info.Size})
	return nil
}

// open opens the file name for reading.
func (v *visit) open(name pfs.Path) (f pfs.File, err error) {
	err = v.session.Do(v.Context(), "open", func(ctx context.Context) (err error) {
		f, err = v.session.FS().Open(ctx, name)
		return err
	})
	return f, err
}

// attach makes a browser save the answer under a name, and do nothing else with it.
func attach(h http.Header, name, kind string) {
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	plain := strings.Map(func(r rune) rune { // for browsers that do not know filename*
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/;`, r) {
			return '_'
		}
		return r
	}, name)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": plain})+
		"; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
}

// content reads a file in the turns of its user, for http.ServeContent.
type content struct {
	v    *visit
	f    pfs.File
	to   *slowly
	size int64
	off  int64
	buf  []byte // read ahead, from off on
	room []byte
}

func (c *content) Read(p []byte) (int, error) {
	if c.off >= c.size {
		return 0, io.EOF
	}
	if len(c.buf) == 0 {
		if c.room == nil {
			c.room = make([]byte, min(piece, c.size-c.off))
		}
		n, err := c.to.read(c.v, c.f, c.room[:min(int64(len(c.room)), c.size-c.off)], c.off)
		if n == 0 {
			return 0, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		c.buf = c.room[:n]
	}
	n := copy(p, c.buf)
	c.buf, c.off = c.buf[n:], c.off+int64(n)
	return n, nil
}

func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.off
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, pfs.Errorf("web.Seek", "", pfs.Invalid, "offset %d", offset)
	}
	c.off, c.buf = offset, nil
	return offset, nil
}

// slowly ends an answer of unknown length to a browser that takes too little of it.
type slowly struct {
	http.ResponseWriter
	pace pace.Pace
}

func newSlowly(w http.ResponseWriter) *slowly { return &slowly{w, pace.OfAnswer(w, 0)} }

func (s *slowly) Write(p []byte) (int, error) {
	s.pace.More(len(p))
	s.pace.Next()
	return s.ResponseWriter.Write(p)
}

// read reads from f in the turns of the user. The time that it takes is not the browser's.
func (s *slowly) read(v *visit, f pfs.File, p []byte, off int64) (n int, err error) {
	_ = s.pace.Wait(func() error {
		n, err = gateway.ReadAt(v.Context(), v.session, f, p, off)
		return nil
	})
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the file is shorter than it was
		if n == len(p) {
			err = nil
		}
	}
	return n, err
}
