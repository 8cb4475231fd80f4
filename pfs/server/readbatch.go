package server

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// readBatch answers many small files.
func (s *Server) readBatch(w http.ResponseWriter, r *request) error {
	var m wire.ReadRequest
	end, err := s.beginBatch(w, r, s.reads, &m)
	if err != nil {
		return err
	}
	defer end()
	files, err := filesOf(m)
	if err != nil {
		return err
	}
	ctx := r.Context()
	errs := pfs.ReadBatch(ctx, r.tree, files)
	if err := pfs.CheckContext(ctx, "server.readBatch", ""); err != nil {
		return err
	}
	s.sendBatch(w, r, files, errs)
	return nil
}

// filesOf checks the request and allocates memory for its files.
func filesOf(m wire.ReadRequest) ([]pfs.BatchFile, error) {
	const op = "server.filesOf"
	bounds, err := newBatchBounds(op, len(m.Files))
	if err != nil {
		return nil, err
	}
	files := make([]pfs.BatchFile, len(m.Files))
	for i, f := range m.Files {
		if files[i].Path, err = bounds.add(op, f.Path, f.Size); err != nil {
			return nil, err
		}
	}
	room := bounds.room()
	for i, f := range m.Files {
		files[i].Data = room.cut(f.Size)
	}
	return files, nil
}

// sendBatch sends the bytes read from the files.
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
	out := bufio.NewWriterSize(&timedWriter{w, newAnswerPace(w, int64(head.Len()+length))}, pieceSize)
	defer hold(r.Context(), w)()
	_, _ = head.WriteTo(out) // the client has left
	for i, err := range errs {
		if err == nil {
			_, _ = wire.NewChunkReader(files[i].Data).WriteTo(out)
		}
	}
	_ = out.Flush()
}

// timedWriter gives the client time for each write, and for all of them.
type timedWriter struct {
	http.ResponseWriter
	pace pace
}

func (w *timedWriter) Write(p []byte) (int, error) {
	w.pace.next()
	return w.ResponseWriter.Write(p)
}
