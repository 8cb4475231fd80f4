package server

import (
	"context"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// smallCopy is a file of a batch of copies.
type smallCopy struct {
	wire.CopyFile
	source, target pfs.Path
	room           []byte // for its content
}

// copyBatch copies many small files inside the service: it reads them together and writes them
// together, whatever their stores. It counts as a batch that is written.
func (s *Server) copyBatch(w http.ResponseWriter, r *request) error {
	var m wire.CopyBatchRequest
	r.changes = true
	end, err := s.beginBatch(w, r, s.writes, &m)
	if err != nil {
		return err
	}
	defer end()
	copies, err := copiesOf(m)
	if err != nil {
		return err
	}
	s.answer(w, r.Request, func(ctx context.Context, progress func(int64)) outcome {
		return s.eachOnce(ctx, r, "copy-batch", len(copies), func(todo []int) outcome { return s.copySmall(ctx, r, copies, todo) })
	})
	return nil
}

// copiesOf checks the request and allocates its memory.
func copiesOf(m wire.CopyBatchRequest) ([]smallCopy, error) {
	const op = "server.copyBatch"
	bounds, err := newBatchBounds(op, len(m.Files))
	if err != nil {
		return nil, err
	}
	copies := make([]smallCopy, len(m.Files))
	for i, f := range m.Files {
		c := smallCopy{CopyFile: f}
		if c.source, err = bounds.add(op, f.Source, f.Size); err == nil {
			c.target, err = pfs.ParsePath(f.Target)
		}
		if err != nil {
			return nil, err
		}
		copies[i] = c
	}
	room := bounds.room()
	for i := range copies {
		copies[i].room = room.cut(copies[i].Size)
	}
	return copies, nil
}

// copySmall makes the copies whose numbers are in todo.
func (s *Server) copySmall(ctx context.Context, r *request, all []smallCopy, todo []int) outcome {
	entries, errs := readCopies(ctx, r.tree, all, todo)
	var ready []int // of todo
	var batch []pfs.BatchEntry
	for k, err := range errs {
		if err == nil {
			ready, batch = append(ready, k), append(batch, entries[k])
		}
	}
	for b, err := range pfs.WriteBatch(ctx, r.tree, batch) {
		errs[ready[b]] = err
	}
	reply := wire.BatchReply{Digests: make([]string, len(todo))}
	var left []int
	for k, err := range errs {
		c := all[todo[k]]
		s.audit(r.Request, r.id.Name, "batch-copy", err, "path", c.source, "to", c.target, "bytes", c.Size, "digest", entries[k].Digest)
		if err == nil {
			reply.Digests[k] = entries[k].Digest
			continue
		}
		s.failed(r.Request, err)
		if ctx.Err() != nil && pfs.KindOf(err) == pfs.Canceled {
			left = append(left, todo[k])
		} else {
			reply.Failed = append(reply.Failed, copyFailure(todo[k], c, err))
		}
	}
	return outcome{reply: wire.Encode(reply), left: left}
}

// copyFailure is the failure of the copy i.
func copyFailure(i int, c smallCopy, err error) wire.BatchFailure {
	f := batchFailure(i, c.target, err)
	if f.Source = f.Error.Path == string(c.source); f.Source {
		f.Error.Path = ""
	}
	return f
}

// readCopies reads the sources and returns the entries to write. Bytes that do not match the
// stored digest of a source are its error.
func readCopies(ctx context.Context, tree pfs.FileSystem, all []smallCopy, todo []int) ([]pfs.BatchEntry, []error) {
	files := make([]pfs.BatchFile, len(todo))
	for k, i := range todo {
		files[k] = pfs.BatchFile{Path: all[i].source, Data: all[i].room}
	}
	errs := pfs.ReadBatch(ctx, tree, files)
	entries := make([]pfs.BatchEntry, len(todo))
	for k, i := range todo {
		c, info := all[i], files[k].Info
		if errs[k] != nil {
			continue
		}
		sum := digest.Bytes(c.room)
		if errs[k] = digest.CheckKept("server.copyBatch", c.source, info, sum); errs[k] != nil {
			continue
		}
		o := pfs.CopyOptions{NoReplace: c.NoReplace, NewTime: c.NewTime}.Commit(info, sum)
		entries[k] = pfs.BatchEntry{Path: c.target, Mode: o.Mode, ModTime: o.ModTime, Data: c.room, Digest: sum, NoReplace: o.NoReplace}
	}
	return entries, errs
}
