package webdav

import (
	"context"
	"encoding/xml"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"golang.org/x/net/webdav"
)

// tree is the file system on which x/net/webdav carries out one request. It knows the method, so it can do each as one
// operation of the store; the names that it is called with are those of the request.
type tree struct{ q *request }

// fail returns an error as x/net/webdav understands it, and keeps it for the answer.
func (t tree) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case is(err, pfs.NotExist):
		return os.ErrNotExist
	}
	t.q.failed = err
	return err
}

// stat describes name, and follows a link.
func (q *request) stat(name pfs.Path) (info pfs.Info, err error) {
	err = q.do("stat", func(ctx context.Context, fsys pfs.FileSystem) error {
		info, err = linkfs.Stat(ctx, fsys, name)
		return err
	})
	return info, err
}

func (t tree) Stat(_ context.Context, name string) (os.FileInfo, error) {
	info, err := t.q.stat(pfs.Path(name))
	if err != nil {
		return nil, t.fail(err)
	}
	return fileInfo{info}, nil
}

func (t tree) Mkdir(_ context.Context, name string, mode os.FileMode) error {
	err := t.q.audited("mkdir", pfs.Path(name), func(ctx context.Context, fsys pfs.FileSystem) error {
		return gateway.MakeDir(ctx, fsys, pfs.Path(name), 0o755)
	})
	if is(err, pfs.Exist) {
		return os.ErrExist // which is 405
	}
	return t.fail(err)
}

// RemoveAll removes name for DELETE. COPY and MOVE replace their target themselves.
func (t tree) RemoveAll(_ context.Context, name string) error {
	if t.q.target != "" {
		return nil
	}
	return t.fail(t.q.audited("remove", pfs.Path(name), func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.RemoveTree(ctx, fsys, pfs.Path(name))
	}))
}

// Rename does a MOVE.
func (t tree) Rename(context.Context, string, string) error {
	err := t.q.move()
	if err != nil {
		t.q.failed = err // a source that is missing is 404, too
	}
	return err
}

// OpenFile opens the file of a PUT, which is also made for a LOCK, the source or the target of a COPY, or what a PROPPATCH
// changes.
func (t tree) OpenFile(_ context.Context, name string, flag int, _ os.FileMode) (webdav.File, error) {
	q := t.q
	switch {
	case flag&os.O_CREATE != 0 && q.target == "":
		u, err := q.newUpload()
		if is(err, pfs.NotExist) {
			q.failed = &statusError{http.StatusConflict, err} // x/net/webdav has 500 for a LOCK without a parent
		}
		if err != nil {
			return nil, t.fail(err)
		}
		return u, nil
	case flag&os.O_CREATE != 0:
		return &copying{node: node{tree: t}}, nil
	}
	info, err := q.stat(pfs.Path(name))
	if err != nil {
		return nil, t.fail(err)
	}
	if q.Method == "PROPPATCH" {
		return &patched{node{tree: t, info: info}}, nil
	}
	return &node{tree: t, info: info}, nil
}

// node is a file or directory that is open for nothing but its properties. As the source of a COPY it is a file even
// if it is a directory, so that the whole copy is one call.
type node struct {
	tree tree
	info pfs.Info
}

func (n *node) Stat() (os.FileInfo, error) {
	info := n.info
	if n.tree.q.target != "" {
		info.Mode &^= fs.ModeDir
	}
	return fileInfo{info}, nil
}

func (*node) Close() error                       { return nil }
func (*node) Read([]byte) (int, error)           { return 0, io.EOF }
func (*node) Write([]byte) (int, error)          { return 0, os.ErrPermission }
func (*node) Seek(int64, int) (int64, error)     { return 0, os.ErrPermission }
func (*node) Readdir(int) ([]os.FileInfo, error) { return nil, io.EOF }

// patched is a file or directory whose properties change.
type patched struct{ node }

func (*patched) DeadProps() (map[xml.Name]webdav.Property, error) { return nil, nil }

// Patch sets the modification time, the only property that clients can set. All other properties are refused, and
// with them the whole request.
func (n *patched) Patch(patches []webdav.Proppatch) ([]webdav.Propstat, error) {
	var all, refused []webdav.Property
	var mtime time.Time
	for _, patch := range patches {
		for _, p := range patch.Props {
			all = append(all, p)
			t, ok := timeProperty(p)
			if patch.Remove || !ok {
				refused = append(refused, p)
			}
			mtime = t
		}
	}
	if len(refused) > 0 {
		stats := []webdav.Propstat{{Status: http.StatusForbidden, Props: refused}}
		if len(all) > len(refused) {
			var rest []webdav.Property
			for _, p := range all {
				if _, ok := timeProperty(p); ok {
					rest = append(rest, p)
				}
			}
			stats = append(stats, webdav.Propstat{Status: webdav.StatusFailedDependency, Props: rest})
		}
		return stats, nil
	}
	q := n.tree.q
	err := q.audited("setattr", q.name, func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.SetAttr(ctx, fsys, q.name, pfs.AttrModTime, pfs.Attrs{ModTime: mtime})
	}, "time", mtime)
	if err != nil {
		return nil, n.tree.fail(err)
	}
	return []webdav.Propstat{{Status: http.StatusOK, Props: all}}, nil
}

// timeProperty returns the modification time that p sets: Windows sends Win32LastModifiedTime, and rclone lastmodified in seconds.
func timeProperty(p webdav.Property) (t time.Time, ok bool) {
	switch p.XMLName {
	case xml.Name{Space: "urn:schemas-microsoft-com:", Local: "Win32LastModifiedTime"}:
		t, err := http.ParseTime(string(p.InnerXML))
		return t, err == nil
	case xml.Name{Space: "DAV:", Local: "lastmodified"}:
		return parseMtime(string(p.InnerXML))
	}
	return time.Time{}, false
}

// parseMtime parses seconds since 1970, with or without a fraction.
func parseMtime(s string) (time.Time, bool) {
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds < 0 || seconds > 1<<34 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(seconds * 1000)), true
}

// fileInfo is an Info as an os.FileInfo with an ETag.
type fileInfo struct{ info pfs.Info }

func (i fileInfo) Name() string                         { return i.info.Name }
func (i fileInfo) Size() int64                          { return i.info.Size }
func (i fileInfo) Mode() fs.FileMode                    { return i.info.Mode }
func (i fileInfo) ModTime() time.Time                   { return i.info.ModTime }
func (i fileInfo) IsDir() bool                          { return i.info.IsDir() }
func (i fileInfo) Sys() any                             { return nil }
func (i fileInfo) ETag(context.Context) (string, error) { return gateway.ETag(i.info), nil }
