package webdav

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
)

// upload is the file of a PUT, of a LOCK that makes one, or of a copy through the service.
type upload struct {
	node
	q         *request
	name      pfs.Path
	file      *gateway.Upload
	size      int64 // announced, -1 if unknown
	noReplace bool
	mode      fs.FileMode
	mtime     time.Time // zero means now
	want      string    // the digest that the bytes must have, or empty
	check     checksum  // announced by the client
	ended     bool      // committed, or failed
	info      pfs.Info  // after the commit
}

// put serves a PUT. Its body is announced to the tree by the headers.
func (q *request) put(w http.ResponseWriter) error {
	const op = "webdav.put"
	if q.Header.Get("Content-Range") != "" {
		return pfs.Errorf(op, q.name, pfs.Invalid, "a part of a file (Content-Range) cannot be replaced: send the whole file")
	}
	if strings.HasSuffix(q.URL.Path, "/") {
		return pfs.Errorf(op, q.name, pfs.IsDir, "the path ends with a slash: MKCOL makes directories")
	}
	end, err := q.session.Transfer(q.Context())
	if err != nil {
		return err
	}
	defer end()
	q.Body = gateway.NewBody(w, q.Request)
	if _, ok := parseMtime(q.Header.Get("X-OC-Mtime")); ok {
		w.Header().Set("X-OC-Mtime", "accepted")
	}
	return q.delegate(w)
}

// newUpload begins the upload of the request's file.
func (q *request) newUpload() (*upload, error) {
	size := q.ContentLength
	if q.Method != http.MethodPut {
		size = 0
	}
	u, err := q.begin(q.name, size)
	if err != nil {
		return nil, err
	}
	u.noReplace = q.Header.Get("If-None-Match") == "*" || q.Method != http.MethodPut
	u.mtime, _ = parseMtime(q.Header.Get("X-OC-Mtime"))
	if u.check, err = newChecksum(q.Header.Get("OC-Checksum")); err != nil {
		_ = u.Close()
		return nil, err
	}
	return u, nil
}

// begin begins an upload of size bytes, -1 if unknown.
func (q *request) begin(name pfs.Path, size int64) (*upload, error) {
	u := &upload{node: node{tree: tree{q}}, q: q, name: name, size: size}
	err := q.audited("create", name, func(ctx context.Context, fsys pfs.FileSystem) error {
		w, err := fsys.Create(ctx, name, pfs.CreateOptions{Size: max(0, size)})
		if err == nil {
			u.file = gateway.NewUpload(q.session, name, w)
		}
		return err
	}, "bytes", size)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// ReadFrom uploads all that comes from r, and commits it. io.Copy calls it with the body.
func (u *upload) ReadFrom(r io.Reader) (n int64, err error) {
	n, err = u.receive(r)
	if err == nil {
		err = u.commit(n)
	}
	u.ended = true
	u.file.Discard(u.q.Context())
	if u.noReplace && is(err, pfs.Exist) {
		err = &statusError{http.StatusPreconditionFailed, err} // of If-None-Match
	}
	return n, u.tree.fail(err)
}

// receive stages the bytes of r.
func (u *upload) receive(r io.Reader) (n int64, err error) {
	u.file.Also = u.check.hash
	body, _ := r.(*gateway.Body)
	n, err = u.file.Receive(u.q.Context(), r, body)
	switch {
	case err != nil:
		return n, err
	case u.size >= 0 && n != u.size:
		return n, pfs.Errorf("webdav.receive", u.name, pfs.Unavailable, "%d of %d bytes came, and nothing of them is kept: send the file again", n, u.size)
	case u.want != "" && u.want != u.file.Digest():
		return n, pfs.Errorf("webdav.receive", u.name, pfs.Integrity, "the bytes that were read are %s, and %s is stored with the file: verify it", u.file.Digest(), u.want)
	}
	return n, u.check.verify(u.name)
}

// commit publishes the n bytes that came.
func (u *upload) commit(n int64) error {
	return u.q.audited("commit", u.name, func(ctx context.Context, _ pfs.FileSystem) (err error) {
		u.info, err = u.file.Commit(ctx, pfs.CommitOptions{Mode: u.mode, ModTime: u.mtime, NoReplace: u.noReplace})
		return err
	}, "bytes", n, "digest", u.file.Digest())
}

// Close publishes an empty file if nothing was read, as for a LOCK of a name that does not exist.
func (u *upload) Close() error {
	if u.ended {
		return nil
	}
	u.ended = true
	var err error
	if u.q.Method == "LOCK" {
		err = u.commit(0)
	}
	u.file.Discard(u.q.Context())
	return u.tree.fail(err)
}

func (u *upload) Stat() (os.FileInfo, error) { return fileInfo{u.info}, nil }

// checksum is a checksum that the client announced for the whole file.
type checksum struct {
	hash hash.Hash // nil if there is none
	want string
}

// newChecksum parses the header OC-Checksum. Algorithms that are not known are refused, as nothing would check them.
func newChecksum(header string) (c checksum, err error) {
	if header == "" {
		return c, nil
	}
	name, value, _ := strings.Cut(header, ":")
	switch strings.ToUpper(name) {
	case "MD5":
		c.hash = md5.New()
	case "SHA1":
		c.hash = sha1.New()
	default:
		return c, pfs.Errorf("webdav.newChecksum", "", pfs.Unsupported, "OC-Checksum %.20q: it must be MD5 or SHA1", name)
	}
	c.want = strings.ToLower(value)
	return c, nil
}

func (c checksum) verify(name pfs.Path) error {
	if c.hash == nil {
		return nil
	}
	if got := hex.EncodeToString(c.hash.Sum(nil)); got != c.want {
		return pfs.Errorf("webdav.verify", name, pfs.Integrity, "the bytes that came have the checksum %s, and %.64q was announced: send the file again", got, c.want)
	}
	return nil
}
