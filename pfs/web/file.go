package web

import (
	"net/http"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// filePage is the data of the template "file".
type filePage struct {
	frame
	Path, Parent        pfs.Path
	Trail               []crumb
	Heading             string
	Size, Bytes         string
	Time                time.Time
	Owner, Mode, Digest string
	Preview             *preview
}

// file shows the attributes and the preview of a file.
func (x *Web) file(v *visit, name pfs.Path, info pfs.Info) error {
	x.render(v.w, http.StatusOK, "file", filePage{
		frame: v.frame(x, name.Base()), Path: name, Parent: name.Parent(), Trail: trail(name), Heading: name.Base(),
		Size: size(info.Size), Bytes: grouped(info.Size) + " bytes", Time: info.ModTime,
		Owner: info.Owner, Mode: info.Mode.Perm().String(), Digest: info.Digest,
		Preview: x.preview(v, name, info),
	})
	return nil
}
