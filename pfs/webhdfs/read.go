package webhdfs

import (
	"context"
	"net/http"
	"strconv"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// open carries out OPEN. It answers with the bytes at once, as HttpFS does, which clients take as well as a redirect.
func open(c *call) (answer, error) {
	off, err := c.params.long("offset", 0, 0)
	if err != nil {
		return answer{}, err
	}
	length, err := c.params.long("length", 0, -1)
	if err != nil {
		return answer{}, err
	}
	if far, err := c.params.yes("noredirect", false); err != nil || far {
		if err == nil {
			err = c.session.Do(c.r.Context(), "open", func(ctx context.Context) error { return c.readable(ctx) })
		}
		return answer{body: named("Location", c.ownAddress())}, err
	}
	ctx := c.r.Context()
	end, err := c.session.Transfer(ctx)
	if err != nil {
		return answer{}, err
	}
	defer end()
	var f pfs.File
	err = c.session.Do(ctx, "open", func(ctx context.Context) (err error) {
		f, err = c.fs().Open(ctx, c.path)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	defer f.Close()
	size := f.Info().Size
	if off > size {
		return answer{}, forbidden(ioException, "Offset=%d out of the range [0, %d); OPEN, path=%s", off, size, c.asked)
	}
	if length < 0 || length > size-off {
		length = size - off
	}
	return answer{sent: true}, c.send(f, off, length)
}

// readable refuses what cannot be opened.
func (c *call) readable(ctx context.Context) error {
	f, err := c.fs().Open(ctx, c.path)
	if err != nil {
		return err
	}
	return f.Close()
}

// ownAddress is the address of this request without noredirect.
func (c *call) ownAddress() string {
	u := *c.r.URL
	u.Scheme, u.Host = gateway.Scheme(c.r), c.host()
	q := u.Query()
	for name := range q {
		if http.CanonicalHeaderKey(name) == "Noredirect" {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// send answers with length bytes of f from off on.
func (c *call) send(f pfs.File, off, length int64) error {
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	p := pace.OfAnswer(c.w, 0)
	buf := make([]byte, min(gateway.Step, length))
	for done := int64(0); done < length; {
		n := int(min(int64(len(buf)), length-done))
		err := p.Wait(func() error {
			return pfs.ReadFull(c.r.Context(), turned{f, c.session}, buf[:n], off+done)
		})
		if err != nil {
			return err
		}
		p.More(n)
		p.Next()
		if _, err := c.w.Write(buf[:n]); err != nil {
			return nil // the client has gone
		}
		done += int64(n)
	}
	if length == 0 {
		c.w.WriteHeader(http.StatusOK)
	}
	return nil
}

// turned is a file that is read in the turns of a session.
type turned struct {
	pfs.File
	session gateway.Session
}

func (t turned) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return gateway.ReadAt(ctx, t.session, t.File, p, off)
}
