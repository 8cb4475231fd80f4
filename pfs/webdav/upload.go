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
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// upload is the file of a PUT, of a LOCK that makes one, or of a copy through the service.
type upload struct {
	node
	q         *request
	name      pfs.Path
	staged    pfs.Staged
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
	end, err := q.h.transfers.begin(q)
	if err != nil {
		return err
	}
	defer end()
	if match := q.Header.Get("If-Match"); match != "" {
		info, err := q.stat(q.name)
		if err != nil && !is(err, pfs.NotExist) {
			return err
		}
		if err != nil || match != "*" && match != gateway.ETag(info) {
			return pfs.Errorf(op, q.name, pfs.Conflict, "the file is not the one that If-Match names")
		}
	}
	q.Body = newBody(w, q.Request)
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
	err := q.audited("create", name, func(ctx context.Context, fsys pfs.FileSystem) (err error) {
		u.staged, err = fsys.Create(ctx, name, pfs.CreateOptions{Size: max(0, size)})
		return err
	}, "bytes", size)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// ReadFrom uploads all that comes from r, and commits it. io.Copy calls it with the body.
func (u *upload) ReadFrom(r io.Reader) (n int64, err error) {
	n, sum, err := u.receive(r)
	if err == nil {
		err = u.commit(n, sum)
	}
	u.ended = true
	if err != nil {
		u.discard()
	}
	if u.noReplace && is(err, pfs.Exist) {
		err = &statusError{http.StatusPreconditionFailed, err} // of If-None-Match
	}
	return n, u.tree.fail(err)
}

// receive stages what comes from r, and returns the digest of the bytes that came.
func (u *upload) receive(r io.Reader) (n int64, sum string, err error) {
	const op = "webdav.receive"
	buf := pieces.Get().(*[gateway.Step]byte)
	defer pieces.Put(buf)
	hash, err := digest.NewHash(digest.XXH3, u.size)
	if err != nil {
		return 0, "", err
	}
	var client *pace.Pace
	if b, ok := r.(*body); ok {
		client = &b.pace
	}
	for err == nil {
		var k int
		if k, err = fill(r, buf[:]); k == 0 || err != nil && err != io.EOF {
			break
		}
		p := buf[:k]
		failed := client.Wait(func() error {
			return u.q.do("write", func(ctx context.Context, _ pfs.FileSystem) error {
				return pfs.InTurn(ctx, func() error {
					_, _ = hash.Write(p)
					u.check.add(p)
					_, err := u.staged.WriteAt(ctx, p, n)
					return err
				})
			})
		})
		if failed != nil {
			return n, "", failed
		}
		u.q.session.Moved(int64(k), 0)
		n += int64(k)
	}
	switch {
	case err != io.EOF && pfs.KindOf(err) != pfs.Other:
		return n, "", err
	case err != io.EOF:
		return n, "", pfs.Errorf(op, u.name, pfs.Unavailable, "the upload broke off at byte %d, and nothing of it is kept: %w", n, err)
	case u.size >= 0 && n != u.size:
		return n, "", pfs.Errorf(op, u.name, pfs.Unavailable, "%d of %d bytes came, and nothing of them is kept: send the file again", n, u.size)
	}
	return n, hash.Sum(), u.check.verify(u.name)
}

// fill reads p in full, or up to the end or an error of r. io.ReadFull has one error for a short rest and a body that was cut.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	return n, err
}

// commit publishes n bytes with the digest sum.
func (u *upload) commit(n int64, sum string) error {
	if u.want != "" && u.want != sum {
		return pfs.Errorf("webdav.commit", u.name, pfs.Integrity, "the bytes that were read are %s, and %s is stored with the file: verify it", sum, u.want)
	}
	return u.q.audited("commit", u.name, func(ctx context.Context, fsys pfs.FileSystem) (err error) {
		u.info, err = gateway.Commit(ctx, fsys, u.name, u.staged, pfs.CommitOptions{
			Size: n, Mode: u.mode, ModTime: u.mtime, Digest: sum, NoReplace: u.noReplace,
		})
		return err
	}, "bytes", n, "digest", sum)
}

// discard removes what was staged, even if the client has left.
func (u *upload) discard() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.q.Context()), pace.Stall)
	defer cancel()
	_ = u.q.session.Do(ctx, "discard", func(ctx context.Context) error { return u.staged.Close(ctx) }) // else it is swept
}

// Close publishes an empty file if nothing was read, as for a LOCK of a name that does not exist.
func (u *upload) Close() error {
	if u.ended {
		return nil
	}
	u.ended = true
	var err error
	if u.q.Method == "LOCK" {
		err = u.commit(0, digest.Bytes(nil))
	}
	if err != nil || u.q.Method != "LOCK" {
		u.discard()
	}
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

func (c checksum) add(p []byte) {
	if c.hash != nil {
		c.hash.Write(p)
	}
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
