package web

import (
	"context"
	"io"
	"mime/multipart"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
)

// upload receives the files of a form, for browsers without the script. A file that breaks off is discarded.
func (x *Web) upload(v *visit, dir pfs.Path) error {
	const op = "web.upload"
	end, err := v.session.Transfer(v.Context())
	if err != nil {
		return err
	}
	defer end()
	body := gateway.NewBody(v.w, v.Request)
	v.Body = body
	parts, err := v.MultipartReader()
	if err != nil {
		return pfs.Errorf(op, dir, pfs.Invalid, "not a form with files: %w", err)
	}
	replace, checked := false, false
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return v.redirect(address("files", dir))
		}
		if err != nil {
			return pfs.Errorf(op, dir, pfs.Unavailable, "the upload broke off: %w", err)
		}
		switch field := part.FormName(); {
		case field == csrfField:
			token, _ := io.ReadAll(io.LimitReader(part, 100))
			if err := v.isToken(string(token)); err != nil {
				return err
			}
			checked = true
		case !checked:
			return v.isToken("")
		case field == "replace":
			replace = true
		case part.FileName() != "":
			if err := x.receive(v, dir, part, body, replace); err != nil {
				return err
			}
		}
	}
}

// receive uploads a file of a form.
func (x *Web) receive(v *visit, dir pfs.Path, part *multipart.Part, body *gateway.Body, replace bool) error {
	const op = "web.receive"
	name, err := pfs.ParsePath(string(dir.Join(part.FileName())))
	if err == nil && name.Parent() != dir {
		err = pfs.Errorf(op, dir, pfs.Invalid, "the name of a file contains no slash")
	}
	if err != nil {
		return err
	}
	ctx := v.Context()
	var w pfs.Staged
	err = v.session.Change(ctx, "create", func(ctx context.Context) (err error) {
		w, err = v.session.FS().Create(ctx, name, pfs.CreateOptions{})
		return err
	}, "path", name)
	if err != nil {
		return err
	}
	u := gateway.NewUpload(v.session, name, w)
	defer u.Discard(ctx)
	length, err := u.Receive(ctx, part, body)
	if err != nil {
		return err
	}
	return v.session.Change(ctx, "commit", func(ctx context.Context) error {
		_, err := u.Commit(ctx, pfs.CommitOptions{NoReplace: !replace})
		return err
	}, "path", name, "bytes", length, "digest", u.Digest())
}
