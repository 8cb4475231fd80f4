package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// maskNew is what modes of new files and directories do not give to group and others.
const maskNew = 0o022

// create carries out CREATE: it redirects, or takes the file.
func create(c *call) (answer, error) {
	overwrite, err := c.params.yes("overwrite", false)
	if err != nil {
		return answer{}, err
	}
	mode, err := c.params.mode(0o644)
	if err != nil {
		return answer{}, err
	}
	copies, err := c.params.replication()
	if err != nil {
		return answer{}, err
	}
	if err := c.params.checkBlockSize(); err != nil {
		return answer{}, err
	}
	var version string
	err = c.session.Do(c.r.Context(), "create", func(ctx context.Context) (err error) {
		version, err = c.checkCreate(ctx, overwrite)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	if !c.signed {
		return c.redirect(version)
	}
	if version != c.params.text(paramVersion) {
		return answer{}, forbidden(alreadyExists, "%s has changed since this CREATE began: begin again without the parameters pfs-*", c.asked)
	}
	end, err := c.session.Transfer(c.r.Context())
	if err != nil {
		return answer{}, err
	}
	defer end()
	receive := c.receiveFile
	if n := c.r.ContentLength; n >= 0 && n <= smallFile {
		receive = c.receiveSmall
	}
	if err := receive(fs.FileMode(mode)&^maskNew, overwrite); err != nil {
		return answer{}, err
	}
	if copies > 0 {
		err := c.session.Do(c.r.Context(), "create", func(ctx context.Context) error { return c.replicate(ctx, copies) })
		if err != nil && !isKind(err, pfs.Unsupported) {
			return answer{}, fmt.Errorf("%s is written, but its replication is that of the store: %w", c.asked, err)
		}
	}
	return answer{status: http.StatusCreated, location: c.hdfsAddress()}, nil
}

// hdfsAddress is the Location of a DataNode's answer.
func (c *call) hdfsAddress() string {
	u := url.URL{Scheme: "hdfs", Host: c.host(), Path: c.asked}
	return u.String()
}

// checkCreate refuses a file that cannot be made, and returns a tag of the entry that has the name now.
func (c *call) checkCreate(ctx context.Context, overwrite bool) (version string, err error) {
	if err := pfs.CheckAccess(ctx, c.fs(), pfs.Write, c.path); err != nil {
		return "", err
	}
	info, err := linkfs.Stat(ctx, c.fs(), c.path)
	switch {
	case isKind(err, pfs.NotExist):
		return "none", nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", forbidden(alreadyExists, "%s already exists as a directory", c.asked)
	case !overwrite:
		return "", forbidden(alreadyExists, "%s for client %s already exists", c.asked, remoteHost(c.r))
	}
	return digest.Bytes([]byte(gateway.ETag(info)))[len(digest.XXH3)+1:], nil
}

// receiveFile stages the body and publishes it.
func (c *call) receiveFile(mode fs.FileMode, overwrite bool) error {
	ctx := c.r.Context()
	var w pfs.Staged
	err := c.session.Do(ctx, "create", func(ctx context.Context) error {
		return c.withParent(ctx, func() (err error) {
			w, err = c.fs().Create(ctx, c.path, pfs.CreateOptions{Size: max(0, c.r.ContentLength)})
			return err
		})
	})
	if err != nil {
		return err
	}
	u := gateway.NewUpload(c.session, c.path, w)
	defer u.Discard(ctx)
	body := gateway.NewBody(c.w, c.r)
	size, err := u.Receive(ctx, body, body)
	if err != nil {
		return err
	}
	return c.session.Change(ctx, "create", func(ctx context.Context) error {
		_, err := u.Commit(ctx, pfs.CommitOptions{Mode: mode, NoReplace: !overwrite})
		return err
	}, append(c.auditFields(), "bytes", size)...)
}

// smallFile is the length up to which a file is received before it is stored. A store needs fewer requests for bytes that
// are all there.
const smallFile = 256 << 10

// receiveSmall takes the body, and then makes the file.
func (c *call) receiveSmall(mode fs.FileMode, overwrite bool) error {
	e := pfs.BatchEntry{Path: c.path, Mode: mode, NoReplace: !overwrite}
	size, err := c.receive(func(p []byte, _ int64) error {
		e.Data = append(e.Data, p...)
		return nil
	})
	if err != nil {
		return err
	}
	e.Digest = digest.Bytes(e.Data)
	c.session.Moved(size, 0)
	return c.session.Change(c.r.Context(), "create", func(ctx context.Context) error {
		return c.withParent(ctx, func() error { return gateway.WriteFile(ctx, c.fs(), e) })
	}, append(c.auditFields(), "bytes", size)...)
}

// withParent calls do, which makes the file, and makes its directory if that is missing.
func (c *call) withParent(ctx context.Context, do func() error) error {
	err := do()
	if isKind(err, pfs.NotExist) && c.params.text("createparent") != "false" {
		if err = pfs.MkdirAll(ctx, c.fs(), c.path.Parent(), 0o755); err == nil {
			err = do()
		}
	}
	return err
}

// appendTo carries out APPEND: it redirects, or takes the bytes.
func appendTo(c *call) (answer, error) {
	ctx := c.r.Context()
	if !c.signed {
		err := c.session.Do(ctx, "append", func(ctx context.Context) error {
			info, err := linkfs.Stat(ctx, c.fs(), c.path)
			switch {
			case isKind(err, pfs.NotExist):
				return missing("Failed to append to non-existent file %s for client %s", c.asked, remoteHost(c.r))
			case err == nil && info.IsDir():
				return forbidden(alreadyExists, "Cannot append to directory %s; already exists as a directory.", c.asked)
			case err == nil:
				err = pfs.CheckAccess(ctx, c.fs(), pfs.Write, c.path)
			}
			return err
		})
		if err != nil {
			return answer{}, err
		}
		return c.redirect("")
	}
	done, err := c.session.Transfer(ctx)
	if err != nil {
		return answer{}, err
	}
	defer done()
	var h pfs.Handle
	err = c.session.Do(ctx, "append", func(ctx context.Context) (err error) {
		h, err = pfs.OpenHandle(ctx, c.fs(), c.path, pfs.OpenWrite|pfs.OpenAppend, 0)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	defer h.Close(context.WithoutCancel(ctx)) // also of a user who may no longer do anything: an open file would refuse the next APPEND
	size, err := c.receive(func(p []byte, off int64) error {
		_, err := gateway.WriteAt(ctx, c.session, h, p, off)
		return err
	})
	end := c.session.Change(context.WithoutCancel(ctx), "append", func(ctx context.Context) error {
		return errors.Join(h.Sync(ctx), h.Close(ctx)) // also of what came before a body broke off
	}, append(c.auditFields(), "bytes", size)...)
	if err == nil {
		err = end
	}
	return answer{}, err
}

// receive passes the body to write, piece by piece, and returns its length.
func (c *call) receive(write func(p []byte, off int64) error) (size int64, err error) {
	body := gateway.NewBody(c.w, c.r)
	return gateway.Receive(c.path, body, body, write)
}

// remoteHost is the address of the client without its port.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
