package web

import (
	"context"
	"io"
	"mime/multipart"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// upload receives the files of a form, for browsers without the script. A file that breaks off is discarded.
func (x *Web) upload(v *visit, dir pfs.Path) error {
	const op = "web.upload"
	body := &steady{v.Body, pace.OfBody(v.w, 0)}
	v.Body = io.NopCloser(body)
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
			if err := x.receive(v, dir, part, replace); err != nil {
				return err
			}
		}
	}
}

// receive uploads a file of a form.
func (x *Web) receive(v *visit, dir pfs.Path, part *multipart.Part, replace bool) error {
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
	defer w.Close(ctx)
	sum, err := digest.NewHash(digest.XXH3, digest.Unknown)
	if err != nil {
		return err
	}
	length := int64(0)
	buf := make([]byte, gateway.Step)
	for ended := false; !ended; {
		n, err := io.ReadFull(part, buf)
		if ended = err == io.EOF || err == io.ErrUnexpectedEOF && atEnd(part); !ended && err != nil {
			return pfs.Errorf(op, name, pfs.Unavailable, "the upload broke off: %w", err)
		}
		if _, err := gateway.WriteAt(ctx, v.session, w, buf[:n], length); err != nil {
			return err
		}
		_, _ = sum.Write(buf[:n])
		length += int64(n)
	}
	kept := sum.Sum()
	return v.session.Change(ctx, "commit", func(ctx context.Context) error {
		_, err := gateway.Commit(ctx, v.session.FS(), name, w, pfs.CommitOptions{Size: length, Digest: kept, NoReplace: !replace})
		return err
	}, "path", name, "bytes", length, "digest", kept)
}

// atEnd reports whether the part has ended, rather than the body of the form.
func atEnd(part *multipart.Part) bool {
	n, err := part.Read(make([]byte, 1))
	return n == 0 && err == io.EOF
}

// steady reads a body of unknown length, which must keep arriving.
type steady struct {
	from io.Reader
	pace pace.Pace
}

func (s *steady) Read(p []byte) (n int, err error) {
	s.pace.Next()
	n, err = s.from.Read(p)
	s.pace.More(n)
	if err == io.EOF {
		s.pace.Done()
	}
	return n, err
}
