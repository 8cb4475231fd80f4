package server

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// dataAnswer is one chunk of a file in transit to a client.
type dataAnswer struct {
	w           http.ResponseWriter
	r           *request
	f           pfs.File
	off, length int64 // of the chunk, which is within the file
	open        bool  // the file may end within the first buffer
	tells       bool  // a trailer carries an error that occurs while sending
}

// sendData sends the chunk, with the Info of its file if requested. It reads the first buffer
// before the answer begins, so an error that it returns can still be the answer.
func (s *Server) sendData(a *dataAnswer, info bool) error {
	buf := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(buf)
	if err := a.readFirst(buf[:min(a.length, pieceSize)]); err != nil {
		return err
	}
	a.setHeader(info)
	s.sendPieces(a, buf)
	return nil
}

// readFirst reads the first buffer, which may end the chunk.
func (a *dataAnswer) readFirst(p []byte) error {
	if !a.open {
		return a.read(p, a.off)
	}
	return pfs.InTurn(a.r.Context(), func() error {
		n, err := a.f.ReadAt(a.r.Context(), p, a.off)
		if err == io.EOF {
			a.length, err = int64(n), nil
		}
		return err
	})
}

// read fills p from the offset off of the file.
func (a *dataAnswer) read(p []byte, off int64) error {
	return pfs.InTurn(a.r.Context(), func() error { return pfs.ReadFull(a.r.Context(), a.f, p, off) })
}

// setHeader sets the header of the answer.
func (a *dataAnswer) setHeader(info bool) {
	h := a.w.Header()
	if info {
		h.Set(wire.HeaderInfo, base64.StdEncoding.EncodeToString(wire.Encode(wire.NewInfo(a.f.Info()))))
	}
	h.Set("Content-Type", wire.TypeChunk)
	a.tells = a.length > pieceSize && a.r.Header.Get(wire.TE) == wire.TETrailers
	if a.tells {
		h.Set("Trailer", wire.TrailerError)
	} else {
		h.Set("Content-Length", strconv.FormatInt(a.length+int64(wire.SumSize), 10))
	}
}

// sendPieces sends the chunk, whose first bytes are in buf, and its checksum.
func (s *Server) sendPieces(a *dataAnswer, buf *[pieceSize]byte) {
	pace := pace.OfAnswer(a.w, a.length)
	pace.Next()
	defer hold(a.r.Context(), a.w)()
	var sum wire.Sum
	for done := int64(0); done < a.length; {
		p := buf[:min(a.length-done, pieceSize)]
		if done > 0 {
			if err := pace.Wait(func() error { return a.read(p, a.off+done) }); err != nil {
				s.breakOff(a, err)
				return
			}
		}
		sum.Add(p)
		if _, err := a.w.Write(p); err != nil {
			return // the client has gone
		}
		done += int64(len(p))
	}
	d := sum.Digest()
	_, _ = a.w.Write(d[:])
}

// breakOff ends an answer that has begun.
func (s *Server) breakOff(a *dataAnswer, err error) {
	if !a.tells {
		s.abort(a.r, "reading", err)
	}
	s.failed(a.r.Request, err)
	a.w.Header().Set(wire.TrailerError, wire.EncodeTrailer(err))
}
