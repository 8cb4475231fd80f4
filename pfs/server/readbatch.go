package server

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// readBatch answers many small files, or ranges of files.
func (s *Server) readBatch(w http.ResponseWriter, r *request) error {
	const op = "server.readBatch"
	var m wire.ReadRequest
	end, err := s.beginBatch(w, r, s.reads, &m)
	if err != nil {
		return err
	}
	defer end()
	var reply wire.ReadReply
	var contents [][]byte
	switch {
	case len(m.Ranges) == 0:
		reply.Files, contents, err = s.readFiles(r, m.Files)
	case len(m.Files) == 0:
		reply.Ranges, contents, err = s.readRanges(r, m.Ranges)
	default:
		err = pfs.Errorf(op, "", pfs.Invalid, "a batch of both files and ranges")
	}
	if err == nil {
		err = pfs.CheckContext(r.Context(), op, "")
	}
	if err != nil {
		return err
	}
	sendBatch(w, r, reply, contents)
	return nil
}

// readFiles reads whole files. contents has those that were read.
func (s *Server) readFiles(r *request, asked []wire.ReadFile) (results []wire.ReadResult, contents [][]byte, err error) {
	files, err := filesOf(asked)
	if err != nil {
		return nil, nil, err
	}
	results = make([]wire.ReadResult, len(files))
	for i, err := range pfs.ReadBatch(r.Context(), r.tree, files) {
		if err != nil {
			results[i].Error = s.batchError(r, files[i].Path, err)
			continue
		}
		results[i].Info = wire.NewInfo(files[i].Info)
		contents = append(contents, files[i].Data)
	}
	return results, contents, nil
}

// readRanges reads ranges of files. contents has those that were read.
func (s *Server) readRanges(r *request, asked []wire.ReadRange) (results []wire.RangeResult, contents [][]byte, err error) {
	ranges, err := rangesOf(asked)
	if err != nil {
		return nil, nil, err
	}
	results = make([]wire.RangeResult, len(ranges))
	for i, err := range pfs.ReadRanges(r.Context(), r.tree, ranges) {
		if err != nil {
			results[i].Error = s.batchError(r, ranges[i].Path, err)
			continue
		}
		results[i].Size = wire.Size(len(ranges[i].Data))
		contents = append(contents, ranges[i].Data)
	}
	return results, contents, nil
}

// batchError logs and encodes the error of one entry.
func (s *Server) batchError(r *request, name pfs.Path, err error) *wire.Error {
	s.failed(r.Request, err)
	e := entryError(name, err)
	return &e
}

// filesOf checks the request and allocates memory for its files.
func filesOf(asked []wire.ReadFile) ([]pfs.BatchFile, error) {
	const op = "server.filesOf"
	bounds, err := newBatchBounds(op, len(asked))
	if err != nil {
		return nil, err
	}
	files := make([]pfs.BatchFile, len(asked))
	for i, f := range asked {
		if files[i].Path, err = bounds.add(op, f.Path, f.Size); err != nil {
			return nil, err
		}
	}
	room := bounds.room()
	for i, f := range asked {
		files[i].Data = room.cut(f.Size)
	}
	return files, nil
}

// rangesOf checks the request and allocates memory for its ranges.
func rangesOf(asked []wire.ReadRange) ([]pfs.Range, error) {
	const op = "server.rangesOf"
	bounds, err := newBatchBounds(op, len(asked))
	if err != nil {
		return nil, err
	}
	ranges := make([]pfs.Range, len(asked))
	for i, a := range asked {
		ranges[i].Version, ranges[i].Off = a.Version, a.Off
		if ranges[i].Path, err = bounds.add(op, a.Path, a.Size); err != nil {
			return nil, err
		}
	}
	room := bounds.room()
	for i, a := range asked {
		ranges[i].Data = room.cut(a.Size)
	}
	return ranges, nil
}

// sendBatch sends the reply and the contents after it.
func sendBatch(w http.ResponseWriter, r *request, reply wire.ReadReply, contents [][]byte) {
	var head bytes.Buffer
	_ = wire.WriteFrame(&head, reply) // a Buffer takes everything
	length := int64(head.Len())
	for _, data := range contents {
		length += int64(len(data) + wire.SumSize)
	}
	w.Header().Set("Content-Type", wire.TypeChunk)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	out := bufio.NewWriterSize(&timedWriter{w, pace.OfAnswer(w, length)}, pieceSize)
	defer hold(r.Context(), w)()
	_, _ = head.WriteTo(out) // the client has left
	for _, data := range contents {
		_, _ = wire.NewChunkReader(data).WriteTo(out)
	}
	_ = out.Flush()
}

// timedWriter gives the client time for each write, and for all of them.
type timedWriter struct {
	http.ResponseWriter
	pace pace.Pace
}

func (w *timedWriter) Write(p []byte) (int, error) {
	w.pace.Next()
	return w.ResponseWriter.Write(p)
}
