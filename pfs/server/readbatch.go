package server

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// readBatch answers many small files.
func (s *Server) readBatch(w http.ResponseWriter, r *request) {
	files, err := receiveRead(w, r.Request)
	if err != nil {
		s.fail(w, r.Request, err)
		return
	}
	ctx := r.Context()
	errs := pfs.ReadBatch(ctx, r.tree, files)
	if err := pfs.CheckContext(ctx, "server.readBatch", ""); err != nil {
		s.fail(w, r.Request, err)
		return
	}
	s.sendBatch(w, r, files, errs)
}

// receiveRead reads which files are asked for, checks all of it and makes room for them.
func receiveRead(w http.ResponseWriter, r *http.Request) ([]pfs.BatchFile, error) {
	const op = "server.receiveRead"
	pace := newPace(w, wire.MaxMessage)
	pace.next()
	var m wire.ReadRequest
	if err := wire.ReadFrame(r.Body, &m); err != nil {
		return nil, received(op, "", err)
	}
	pace.done()
	if len(m.Files) > wire.MaxBatchEntries {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "batch of %d files, the limit is %d", len(m.Files), wire.MaxBatchEntries)
	}
	files := make([]pfs.BatchFile, len(m.Files))
	left := int64(wire.MaxBatchBytes)
	for i, f := range m.Files {
		name, err := pfs.ParsePath(f.Path)
		if err != nil {
			return nil, err
		}
		if f.Size < 0 || f.Size > left {
			return nil, pfs.Errorf(op, name, pfs.Invalid, "file of %d bytes in a batch of at most %d", f.Size, wire.MaxBatchBytes)
		}
		left -= f.Size
		files[i].Path = name
	}
	buf := make([]byte, wire.MaxBatchBytes-left)
	for i, f := range m.Files {
		files[i].Data = buf[:f.Size:f.Size]
		buf = buf[f.Size:]
	}
	return files, nil
}

// sendBatch answers what was read of the files.
func (s *Server) sendBatch(w http.ResponseWriter, r *request, files []pfs.BatchFile, errs []error) {
	reply := wire.ReadReply{Files: make([]wire.ReadResult, len(files))}
	length := 0
	for i, err := range errs {
		f := &files[i]
		if err != nil {
			e := entryError(f.Path, err)
			reply.Files[i].Error = &e
			s.failed(r.Request, err)
			continue
		}
		reply.Files[i].Info = wire.NewInfo(f.Info)
		length += len(f.Data) + wire.SumSize
	}
	var head bytes.Buffer
	_ = wire.WriteFrame(&head, reply) // a Buffer takes everything
	w.Header().Set("Content-Type", wire.TypeChunk)
	w.Header().Set("Content-Length", strconv.Itoa(head.Len()+length))
	out := bufio.NewWriterSize(&timedWriter{w, http.NewResponseController(w)}, pieceSize)
	defer hold(r.Context(), w)()
	_, _ = head.WriteTo(out) // a client that has gone learns so by itself
	for i, err := range errs {
		if err == nil {
			_, _ = wire.NewChunkReader(files[i].Data).WriteTo(out)
		}
	}
	_ = out.Flush()
}

// timedWriter gives the client time for each write.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *timedWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(stall))
	return w.ResponseWriter.Write(p)
}
