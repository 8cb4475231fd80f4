package webdav

import (
	"context"
	"mime"
	"net/http"
	"path"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
)

// get serves GET and HEAD, with ranges and conditions.
func (q *request) get(w http.ResponseWriter) error {
	end, err := q.session.Transfer(q.Context())
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
