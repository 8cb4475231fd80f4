package webdav

import (
	"context"
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
	// maxTransfers bounds the bodies and files in transit, each with a buffer; a user gets a quarter. Others wait.
	maxTransfers = 256
	waitTransfer = 10 * time.Second
)

var pieces = sync.Pool{New: func() any { return new([gateway.Step]byte) }}

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
	w.Header().Set("Content-Type", contentType(f.Info()))
	if gateway.NewContent(q.Context(), q.session, f).Serve(w, q.Request) != nil {
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
