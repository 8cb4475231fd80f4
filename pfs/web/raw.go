package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// raw sends a file, or ranges of it.
func (x *Web) raw(v *visit, name pfs.Path) error {
	end, err := v.session.Transfer(v.Context())
	if err != nil {
		return err
	}
	defer end()
	f, err := v.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := v.w.Header()
	attach(h, name.Base(), "application/octet-stream")
	h.Set("Cache-Control", "private, no-cache")
	return v.send(f)
}

// errCut is an error after the beginning of the answer, which must not look whole.
var errCut = errors.New("the answer was cut off")

// send sends a file, or ranges of it.
func (v *visit) send(f pfs.File) error {
	if err := gateway.NewContent(v.Context(), v.session, f).Serve(v.w, v.Request); err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
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
