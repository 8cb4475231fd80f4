package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// sumHeader is the header with the SHA-256 of a leaf that the script sends.
const sumHeader = "Pfs-Sha256"

// begun answers how an upload can continue.
type begun struct {
	Exists  bool  `json:"exists"`  // a file has the name, and the request did not say replace
	Resumed bool  `json:"resumed"` // bytes may be staged already
	Unit    int64 `json:"unit"`    // see pfs.Staged
	Length  int64 `json:"length"`  // the length of a leaf
}

// sendBegin begins or resumes the upload of the file name. below=DIR makes the missing folders between DIR and the
// file.
func (x *Web) sendBegin(v *visit, name pfs.Path) error {
	q := v.URL.Query()
	length, err := number(q, "size", name)
	if err == nil {
		err = x.makeFolders(v, q.Get("below"), name.Parent())
	}
	if err != nil {
		return err
	}
	if q.Get("replace") != "yes" {
		var info pfs.Info
		err := v.session.Do(v.Context(), "stat", func(ctx context.Context) (err error) {
			info, err = linkfs.Stat(ctx, v.session.FS(), name)
			return err
		})
		switch {
		case err == nil && info.IsDir():
			return pfs.E("web.sendBegin", name, pfs.IsDir, nil)
		case err == nil:
			x.answer(v.w, http.StatusOK, begun{Exists: true})
			return nil
		case !errors.Is(err, pfs.NotExist):
			return err
		}
	}
	var reply wire.CreateReply
	request := wire.CreateRequest{Path: string(name), ID: q.Get("id"), Size: length}
	if err := x.call(v.Request, wire.PathCall+wire.CallCreate, v.access, request, &reply); err != nil {
		return err
	}
	x.answer(v.w, http.StatusOK, begun{Resumed: reply.Resumed, Unit: reply.Unit, Length: pfs.ChunkSize})
	return nil
}

// makeFolders makes the folder dir, which is below below, and the missing ones between them.
func (x *Web) makeFolders(v *visit, below string, dir pfs.Path) error {
	if below == "" || below == string(dir) {
		return nil
	}
	top, err := pfs.ParsePath(below)
	if err == nil && !dir.Within(top) {
		err = pfs.Errorf("web.makeFolders", dir, pfs.Invalid, "not below %s", top)
	}
	if err != nil {
		return err
	}
	var info pfs.Info
	err = v.session.Do(v.Context(), "stat", func(ctx context.Context) (err error) {
		info, err = linkfs.Stat(ctx, v.session.FS(), dir)
		return err
	})
	if err == nil && info.IsDir() {
		return nil
	}
	return v.session.Change(v.Context(), "mkdir", func(ctx context.Context) error {
		return pfs.MkdirAll(ctx, v.session.FS(), dir, folderMode)
	}, "path", dir)
}

// sendMkdir makes a folder that was dropped and has no files.
func (x *Web) sendMkdir(v *visit, dir pfs.Path) error {
	if err := x.makeFolders(v, v.URL.Query().Get("below"), dir); err != nil {
		return err
	}
	x.answer(v.w, http.StatusOK, struct{}{})
	return nil
}

// number returns a parameter that is a number of bytes.
func number(q url.Values, key string, name pfs.Path) (int64, error) {
	n, err := strconv.ParseInt(q.Get(key), 10, 64)
	if err != nil || n < 0 {
		return 0, pfs.Errorf("web.number", name, pfs.Invalid, "parameter %s=%.40q", key, q.Get(key))
	}
	return n, nil
}

// leafReply describes a leaf of an upload.
type leafReply struct {
	Size   int64  `json:"size"`             // bytes
	SHA256 string `json:"sha256,omitempty"` // for the script to compare
	Leaf   string `json:"leaf"`             // the XXH3 that the commit needs
}

// sendLeaf answers the digests of the staged bytes of a leaf, for a script that resumes.
func (x *Web) sendLeaf(v *visit, name pfs.Path) error {
	q := v.URL.Query()
	read := newSummed(nil)
	to := &caught{below: v.w, limit: maxReply, sink: read}
	err := x.serve(v.Request, to, http.MethodGet, wire.PathData, url.Values{
		"path": {string(name)}, "id": {q.Get("id")}, "off": {q.Get("off")}, "len": {q.Get("len")},
	}, v.access, http.NoBody, 0)
	if err != nil {
		return err
	}
	if read.sum.Digest() != read.tail {
		return pfs.Errorf("web.sendLeaf", name, pfs.Integrity, "the answer of the service was damaged")
	}
	x.answer(v.w, http.StatusOK, leafReply{Size: read.size, SHA256: read.sha256(), Leaf: hex.EncodeToString(read.tail[:])})
	return nil
}

// sendChunk receives a chunk of an upload and answers its digest, if its SHA-256 is the one that the script states.
func (x *Web) sendChunk(v *visit, name pfs.Path) error {
	q := v.URL.Query()
	length := v.ContentLength
	if length < 0 || length > pfs.ChunkSize {
		return pfs.Errorf("web.sendChunk", name, pfs.Invalid, "a chunk with Content-Length %d; it has 0 to %d", length, int64(pfs.ChunkSize))
	}
	sent := newSummed(v.Body)
	sent.want, sent.left = v.Header.Get(sumHeader), length
	err := x.serve(v.Request, &caught{below: v.w, limit: maxReply}, http.MethodPut, wire.PathData, url.Values{
		"path": {string(name)}, "id": {q.Get("id")}, "off": {q.Get("off")},
	}, v.access, sent, length+int64(wire.SumSize))
	if err != nil {
		return err
	}
	d := sent.sum.Digest()
	x.answer(v.w, http.StatusOK, leafReply{Size: length, Leaf: hex.EncodeToString(d[:])})
	return nil
}

// summed passes the bytes of a chunk on and computes both of its digests. As a reader it yields the chunk of package
// wire: the bytes, and their checksum only if their SHA-256 is want. As a writer it takes such a chunk.
type summed struct {
	sum  wire.Sum
	sha  hash.Hash
	size int64

	from io.Reader
	want string
	left int64  // bytes to come
	end  []byte // the rest of the checksum, nil until it is made

	tail pfs.LeafDigest // the last bytes that were written
	have int            // how many of tail there are
}

func newSummed(from io.Reader) *summed { return &summed{from: from, sha: sha256.New()} }

func (s *summed) add(p []byte) {
	s.sum.Add(p)
	s.sha.Write(p)
	s.size += int64(len(p))
}

func (s *summed) sha256() string { return hex.EncodeToString(s.sha.Sum(nil)) }

func (s *summed) Read(p []byte) (int, error) {
	if s.left > 0 {
		n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
		s.add(p[:n])
		if s.left -= int64(n); err == io.EOF && s.left > 0 {
			err = io.ErrUnexpectedEOF
		} else if err == io.EOF {
			err = nil
		}
		return n, err
	}
	if s.end == nil {
		d := s.sum.Digest()
		if s.sha256() != s.want {
			d[0] ^= 1 // the service refuses the chunk as damaged
		}
		s.end = d[:]
	}
	if len(s.end) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.end)
	s.end = s.end[n:]
	return n, nil
}

// Write adds all but the last bytes so far, which may be the checksum.
func (s *summed) Write(p []byte) (int, error) {
	written := len(p)
	if keep := len(s.tail) - s.have; len(p) <= keep {
		s.have += copy(s.tail[s.have:], p)
		return written, nil
	}
	if len(p) < len(s.tail) {
		out := s.have + len(p) - len(s.tail)
		s.add(s.tail[:out])
		s.have = copy(s.tail[:], s.tail[out:s.have])
	} else {
		s.add(s.tail[:s.have])
		s.add(p[:len(p)-len(s.tail)])
		p, s.have = p[len(p)-len(s.tail):], 0
	}
	s.have += copy(s.tail[s.have:], p)
	return written, nil
}

// committed answers the end of an upload.
type committed struct {
	Exists bool   `json:"exists"`
	Digest string `json:"digest"`
}

// sendCommit publishes an upload. The body is the XXH3 of all leaves in order, as the answers to the chunks stated
// them.
func (x *Web) sendCommit(v *visit, name pfs.Path) error {
	const op = "web.sendCommit"
	q := v.URL.Query()
	length, err := number(q, "size", name)
	if err != nil {
		return err
	}
	tree, err := digest.NewTree(digest.XXH3, length)
	if err != nil {
		return err
	}
	text := make([]byte, 2*len(pfs.LeafDigest{}))
	for range pfs.Leaves(length) {
		_, err := io.ReadFull(v.Body, text)
		var leaf []byte
		if err == nil {
			leaf, err = hex.DecodeString(string(text))
		}
		if err != nil {
			return pfs.Errorf(op, name, pfs.Invalid, "a file of %d bytes needs %d digests of leaves", length, pfs.Leaves(length))
		}
		tree.Add(leaf)
	}
	v.bodyEnds()
	request := wire.CommitRequest{Path: string(name), ID: q.Get("id"), Size: length, Digest: tree.Sum(), NoReplace: q.Get("replace") != "yes"}
	if ms, err := strconv.ParseInt(q.Get("time"), 10, 64); err == nil && ms > 0 {
		request.Time = wire.NewOptionalTime(time.UnixMilli(ms))
	}
	var reply wire.InfoReply
	err = x.call(v.Request, wire.PathCall+wire.CallCommit, v.access, request, &reply)
	if request.NoReplace && errors.Is(err, pfs.Unsupported) { // by this store: sendBegin has looked
		request.NoReplace = false
		err = x.call(v.Request, wire.PathCall+wire.CallCommit, v.access, request, &reply)
	}
	if request.NoReplace && errors.Is(err, pfs.Exist) {
		x.answer(v.w, http.StatusOK, committed{Exists: true})
		return nil
	}
	if err != nil {
		return err
	}
	x.answer(v.w, http.StatusOK, committed{Digest: tree.Sum()})
	return nil
}

// sendDiscard removes an upload.
func (x *Web) sendDiscard(v *visit, name pfs.Path) error {
	err := x.call(v.Request, wire.PathCall+wire.CallDiscard, v.access, wire.StagedRequest{Path: string(name), ID: v.URL.Query().Get("id")}, &wire.Empty{})
	if err != nil {
		return err
	}
	x.answer(v.w, http.StatusOK, struct{}{})
	return nil
}
