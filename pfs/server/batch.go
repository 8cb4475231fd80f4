package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// batches bounds the batches that are read, and also those that are written, at one time.
	// Each may hold MaxBatchBytes.
	batches = 12
	// leads bounds the leading messages in memory in the same way. Each may have MaxMessage
	// bytes.
	leads = 24
)

// queue is where batches that are read, or written, wait for a slot. Users and addresses have
// shares of it.
type queue struct{ leads, work *slots }

func newQueue() *queue {
	return &queue{leads: newSlots(leads, leads/3), work: newSlots(batches, batches/3)}
}

// batch makes many small files and directories.
func (s *Server) batch(w http.ResponseWriter, r *request) error {
	var m wire.BatchRequest
	r.changes = true
	end, err := s.beginBatch(w, r, s.writes, &m)
	if err != nil {
		return err
	}
	defer end()
	entries, err := receiveBatch(w, r.Request, m)
	if err != nil {
		return err
	}
	s.answer(w, r.Request, func(ctx context.Context, progress func(int64)) outcome {
		return s.eachOnce(ctx, r, "batch", len(entries), func(todo []int) outcome { return s.writeBatch(ctx, r, entries, todo) })
	})
	return nil
}

// eachOnce does each of the n entries of a batch once under the request ID; do does the entries
// whose numbers are in todo. If the client leaves, a repeated request does the rest: each round
// is remembered.
func (s *Server) eachOnce(ctx context.Context, r *request, method string, n int, do func(todo []int) outcome) outcome {
	const op = "server.batch"
	reply := wire.BatchReply{Digests: make([]string, n)}
	todo := make([]int, n)
	for i := range todo {
		todo[i] = i
	}
	for round := 1; ; round++ {
		o := s.doOnce(ctx, r, fmt.Sprint(method, " ", round), func() outcome { return do(todo) })
		if o.err != nil || round == 1 && len(o.left) == 0 {
			return o
		}
		var made wire.BatchReply
		if err := wire.Decode(o.reply, &made); err != nil {
			return outcome{err: err}
		}
		reply.Failed = append(reply.Failed, made.Failed...)
		for k, sum := range made.Digests[:min(len(made.Digests), len(todo))] {
			reply.Digests[todo[k]] = sum
		}
		if len(o.left) == 0 {
			return outcome{reply: wire.Encode(reply)}
		}
		if err := pfs.CheckContext(ctx, op, ""); err != nil {
			return outcome{err: err}
		}
		if todo = o.left; todo[len(todo)-1] >= n {
			return outcome{err: pfs.Errorf(op, "", pfs.Invalid, "another batch was sent under this request ID")}
		}
	}
}

// writeBatch makes the entries whose numbers are in todo.
func (s *Server) writeBatch(ctx context.Context, r *request, all []pfs.BatchEntry, todo []int) outcome {
	entries := make([]pfs.BatchEntry, len(todo))
	for k, i := range todo {
		entries[k] = all[i]
	}
	var reply wire.BatchReply
	var left []int
	for k, err := range pfs.WriteBatch(ctx, r.tree, entries) {
		e := entries[k]
		if e.Mode.IsDir() {
			s.audit(r.Request, r.id.Name, "batch-mkdir", err, "path", e.Path)
		} else {
			s.audit(r.Request, r.id.Name, "batch-write", err, "path", e.Path, "bytes", len(e.Data), "digest", e.Digest)
		}
		if err == nil {
			continue
		}
		s.failed(r.Request, err)
		if ctx.Err() != nil && pfs.KindOf(err) == pfs.Canceled {
			left = append(left, todo[k])
		} else {
			reply.Failed = append(reply.Failed, batchFailure(todo[k], e.Path, err))
		}
	}
	return outcome{reply: wire.Encode(reply), left: left}
}

// batchFailure is the failure of the entry i.
func batchFailure(i int, name pfs.Path, err error) wire.BatchFailure {
	return wire.BatchFailure{Index: i, Error: entryError(name, err)}
}

// entryError encodes err, without the path if that is the path of the entry, which the
// client knows.
func entryError(name pfs.Path, err error) wire.Error {
	e := wire.NewError(err)
	if e.Path == string(name) {
		e.Path = ""
	}
	return e
}

// beginBatch is begin for a batch, which takes much memory: it reads the leading message into m,
// and waits for a slot.
func (s *Server) beginBatch(w http.ResponseWriter, r *request, in *queue, m any) (end func(), err error) {
	end, err = in.enter(w, r, m)
	if err != nil {
		return nil, err
	}
	return s.prepare(r, end)
}

// enter reads the leading message and waits for a slot for the batch. The message counts as a
// lead until then, because it is in memory.
func (q *queue) enter(w http.ResponseWriter, r *request, m any) (end func(), err error) {
	leave, err := q.leads.acquireFrom(r.Context(), r.id.Name, address(r.Request))
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := receiveLead(w, r, m); err != nil {
		return nil, err
	}
	return q.work.acquireFrom(r.Context(), r.id.Name, address(r.Request))
}

// receiveLead reads the message that leads a batch. It must arrive within one pace.Stall, because it
// holds only names. Memory for content is taken later.
func receiveLead(w http.ResponseWriter, r *request, m any) error {
	pace := pace.OfBody(w, 0)
	pace.Next()
	if err := wire.ReadFrame(r.Body, m); err != nil {
		return received("server.receiveLead", "", err)
	}
	pace.Done()
	return nil
}

// receiveBatch reads the content of a batch and checks all of it.
func receiveBatch(w http.ResponseWriter, r *http.Request, m wire.BatchRequest) ([]pfs.BatchEntry, error) {
	const op = "server.receiveBatch"
	bounds, err := newBatchBounds(op, len(m.Entries))
	if err != nil {
		return nil, err
	}
	entries := make([]pfs.BatchEntry, len(m.Entries))
	for i, e := range m.Entries {
		name, err := bounds.add(op, e.Path, e.Size)
		if err != nil {
			return nil, err
		}
		entries[i] = pfs.BatchEntry{
			Path: name, Mode: wire.FileMode(e.Mode), ModTime: e.Time.Optional(), Digest: e.Digest, NoReplace: e.NoReplace,
		}
	}
	room := bounds.room()
	pace := pace.OfBody(w, int64(len(room)))
	for i, e := range m.Entries {
		if entries[i].Mode.IsDir() {
			continue
		}
		pace.Next()
		data := room.cut(e.Size)
		if err := wire.ReadChunk(r.Body, data); err != nil {
			return nil, received(op, entries[i].Path, err)
		}
		sum := digest.Bytes(data)
		if digest.Algorithm(e.Digest) == digest.XXH3 && e.Digest != sum {
			return nil, pfs.Errorf(op, entries[i].Path, pfs.Integrity, "the sender has %s and the service %s", e.Digest, sum)
		}
		entries[i].Data, entries[i].Digest = data, sum
	}
	pace.Next()
	if n, _ := r.Body.Read(make([]byte, 1)); n > 0 {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "bytes after the end of the batch")
	}
	pace.Done()
	return entries, nil
}
