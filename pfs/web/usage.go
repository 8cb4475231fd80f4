package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
)

// usagePage is the data of the template "usage".
type usagePage struct {
	frame
	Path        pfs.Path
	Trail       []crumb
	Heading     string
	Size, Bytes string
	Files, Dirs string
	Meters      []meter
}

// meter is how much of a limit is used.
type meter struct {
	Name, Text       string
	Value, Max, High int64
}

// usage shows the number and size of the files in a folder, and the limits that apply to it.
func (x *Web) usage(v *visit, dir pfs.Path) error {
	var u pfs.Usage
	var space pfs.Space
	err := v.session.Do(v.Context(), "usage", func(ctx context.Context) (err error) {
		u, err = pfs.UsageOf(ctx, v.session.FS(), dir)
		return err
	})
	if err == nil {
		err = v.session.Do(v.Context(), "space", func(ctx context.Context) (err error) {
			space, err = pfs.SpaceOf(ctx, v.session.FS(), dir)
			if errors.Is(err, pfs.Unsupported) {
				return nil
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	p := usagePage{
		frame: v.frame(x, "Usage of "+shown(headingOf(dir))), Path: dir, Trail: trail(dir), Heading: headingOf(dir),
		Size: size(u.Bytes), Bytes: grouped(u.Bytes) + " bytes", Files: grouped(u.Files), Dirs: grouped(u.Dirs),
	}
	if u.MaxBytes > 0 {
		p.Meters = append(p.Meters, newMeter("Quota of bytes", u.Bytes, u.MaxBytes, size(u.Bytes)+" of "+size(u.MaxBytes)))
	}
	if u.MaxFiles > 0 {
		n := u.Files + u.Dirs
		p.Meters = append(p.Meters, newMeter("Quota of files and folders", n, u.MaxFiles, grouped(n)+" of "+grouped(u.MaxFiles)))
	}
	if space.Total > 0 {
		p.Meters = append(p.Meters, newMeter("The whole store", space.Total-space.Free, space.Total, size(space.Free)+" free of "+size(space.Total)))
	}
	x.render(v.w, http.StatusOK, "usage", p)
	return nil
}

func newMeter(name string, value, most int64, text string) meter {
	return meter{Name: name, Text: text, Value: value, Max: most, High: most - most/10}
}
