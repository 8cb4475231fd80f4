package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// pieceSize is the size of the buffer through which a chunk passes: received, checked and
// written, or read and sent. A request so costs little memory, and the bytes are still in the
// processor's cache at the next step.
const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// query reads the parameters of a data request.
type query struct {
	path, id, version string
	off, length       int64
	info              bool
	handle            wire.Handle // with an ID if the chunk is of a handle
	again             bool        // the answer to the first request with this chunk was lost
}

func parseQuery(r *http.Request) (q query, name pfs.Path, err error) {
	const op = "server.parseQuery"
	v := r.URL.Query()
	var flags int64
	q.path, q.id, q.version, q.info = v.Get("path"), v.Get("id"), v.Get("version"), v.Get("info") == "1"
	if name, err = pfs.ParsePath(q.path); err != nil {
		return q, "", err
	}
	for _, f := range []struct {
		name string
		to   *int64
	}{{"off", &q.off}, {"len", &q.length}, {"flags", &flags}} {
		s := v.Get(f.name)
		if s == "" {
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return q, "", pfs.Errorf(op, name, pfs.Invalid, "parameter %s=%.40q", f.name, s)
		}
		*f.to = n
	}
	if q.length > pfs.ChunkSize {
		return q, "", pfs.Errorf(op, name, pfs.Invalid, "chunk of %d bytes, the limit is %d", q.length, pfs.ChunkSize)
	}
	q.handle = wire.Handle{ID: v.Get("handle"), Path: q.path, Flags: uint8(flags)}
	q.handle.File, _ = strconv.ParseUint(v.Get("file"), 10, 64) // 0 if there is none
	q.again = v.Get("again") == "1"
	return q, name, nil
}

// getData answers a chunk of a file.
func (s *Server) getData(w http.ResponseWriter, r *request) error {
	q, name, err := parseQuery(r.Request)
	if err != nil {
		return err
	}
	f, err := s.openData(r.Context(), r, q, name)
	if err != nil {
		return err
	}
	defer f.Close()
	length := max(0, min(q.length, f.Info().Size-q.off))
	return s.sendData(&dataAnswer{w: w, r: r, f: f, off: q.off, length: length, open: q.handle.ID != ""}, q.info)
}

// hold gathers small writes into large ones until release is called.
func hold(ctx context.Context, w http.ResponseWriter) (release func()) {
	cork, ok := ctx.Value(corkKey{}).(*wire.Cork)
	if !ok {
		return func() {}
	}
	cork.Hold()
	return func() {
		_ = http.NewResponseController(w).Flush() // out of net/http's buffer, then out of the cork
		_ = cork.Release()
	}
}

// openData opens the file or upload of a requested chunk.
func (s *Server) openData(ctx context.Context, r *request, q query, name pfs.Path) (pfs.File, error) {
	if q.id != "" {
		u, err := s.upload(ctx, r, q.path, q.id)
		if err != nil {
			return nil, err
		}
		return s.uploadFile(ctx, u, q.off, q.length)
	}
	if q.handle.ID != "" {
		return s.handleFile(ctx, r, q)
	}
	if f := s.keptFile(ctx, r, q, name); f != nil {
		return f, nil
	}
	f, err := pfs.OpenVersion(ctx, r.tree, name, q.version)
	if err != nil {
		return nil, err
	}
	return &openFile{kept: kept[fileKey]{key: r.fileKey(name, f.Info().Version, 0)}, File: f, files: s.files}, nil
}

// keptFile returns the file that was kept open for this chunk, if name still leads to
// its version.
func (s *Server) keptFile(ctx context.Context, r *request, q query, name pfs.Path) pfs.File {
	if q.version == "" {
		return nil
	}
	f := s.files.take(r.fileKey(name, q.version, q.off))
	if f == nil {
		return nil
	}
	if info, err := r.tree.Stat(ctx, name); err != nil || info.Version != q.version {
		_ = f.File.Close()
		return nil
	}
	return f
}

// abort cuts the connection in the middle of an answer, so that the client cannot take the answer
// for a whole one.
func (s *Server) abort(r *request, doing string, err error) {
	s.cfg.Logger.Error("answer cut off", "request", r.URL.Path, "doing", doing, "error", pfs.Detail(err))
	s.metrics.failed(pfs.KindOf(err))
	panic(http.ErrAbortHandler)
}

// putData takes one chunk of an upload.
func (s *Server) putData(w http.ResponseWriter, r *request) error {
	q, name, err := parseQuery(r.Request)
	if err == nil {
		q.length, err = chunkLength(r.Request, name)
	}
	if err != nil {
		return err
	}
	ctx := r.Context()
	u, err := s.upload(ctx, r, q.path, q.id)
	if err != nil {
		return err
	}
	defer s.uploads.release(u)
	err = s.receiveLeaf(w, r, u, q.off, q.length)
	if errors.Is(err, pfs.Integrity) && !errors.Is(err, wire.ErrDamaged) {
		// Bytes before the chunk are not staged, for example after a crash: the client sends
		// them again.
		s.failedAt(slog.LevelDebug, "request failed", r.Request, err)
		s.refuse(w, err)
		return nil
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// chunkLength returns the number of bytes in the chunk that the request carries.
func chunkLength(r *http.Request, name pfs.Path) (int64, error) {
	n := r.ContentLength - int64(wire.SumSize)
	if n < 0 || n > pfs.ChunkSize {
		return 0, pfs.Errorf("server.chunkLength", name, pfs.Invalid,
			"a chunk with Content-Length %d; it has %d to %d", r.ContentLength, wire.SumSize, pfs.ChunkSize+wire.SumSize)
	}
	return n, nil
}

// receiveLeaf writes the chunk at off, and keeps its digest if the chunk is a whole leaf.
func (s *Server) receiveLeaf(w http.ResponseWriter, r *request, u *upload, off, length int64) error {
	unlock, err := u.lock(r.Context(), 1)
	if err != nil {
		return err
	}
	defer unlock()
	if u.over { // the store knows more
		return pfs.Errorf("server.receiveLeaf", u.key.path, pfs.Unavailable, "the upload %s has ended", u.key.id)
	}
	// A chunk that spans two leaves invalidates the digests of both.
	var whole *chunk
	first := off / pfs.ChunkSize
	for n := first; n < first+pfs.Leaves(off%pfs.ChunkSize+length); n++ {
		c, err := u.take(r.Context(), u.key.path, n)
		if err != nil {
			return err
		}
		defer u.leave(n, c)
		c.by, c.size = u, 0
		if n*pfs.ChunkSize == off {
			whole = c
		}
	}
	sum, err := s.receive(w, r, length, func(p []byte, at int64) error {
		_, err := u.staged.WriteAt(r.Context(), p, off+at)
		return err
	})
	if err == nil && whole != nil {
		whole.size, whole.digest = int(length), sum
	}
	return err
}

// receive reads a chunk of length bytes buffer by buffer, passes each to write, and verifies and
// returns the checksum after it.
func (s *Server) receive(w http.ResponseWriter, r *request, length int64, write func(p []byte, at int64) error) (pfs.LeafDigest, error) {
	const op = "server.receive"
	pace := pace.OfBody(w, length)
	pace.Next()
	buf := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(buf)
	var sum wire.Sum
	for done := int64(0); done < length; {
		p := buf[:min(length-done, pieceSize)]
		if _, err := io.ReadFull(r.Body, p); err != nil {
			return pfs.LeafDigest{}, pfs.Errorf(op, "", pfs.Unavailable, "the chunk broke off: %w", err)
		}
		step := func() error {
			sum.Add(p)
			return write(p, done)
		}
		if err := pace.Wait(func() error { return pfs.InTurn(r.Context(), step) }); err != nil {
			return pfs.LeafDigest{}, err
		}
		done += int64(len(p))
	}
	err := sum.Check(r.Body)
	if err != nil && pfs.KindOf(err) != pfs.Integrity {
		err = pfs.Errorf(op, "", pfs.Unavailable, "the chunk broke off: %w", err)
	}
	if err == nil {
		pace.Done()
	}
	return sum.Digest(), err
}
