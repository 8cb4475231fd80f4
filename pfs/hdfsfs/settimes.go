package hdfsfs

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/protobuf/encoding/protowire"
)

// HDFS keeps milliseconds. The library sends whole seconds, and always both times, of which a
// cluster that keeps no access times refuses one. So the request is edited.

// setTimes sets the times of a path in HDFS, of which the zero time keeps one, and returns the modification time
// as HDFS keeps it.
func (f *FS) setTimes(ctx context.Context, at string, mtime, atime time.Time) (kept time.Time, err error) {
	const modified, accessed = 2, 3 // fields of SetTimesRequestProto
	more := protowire.AppendVarint(protowire.AppendTag(nil, modified, protowire.VarintType), millis(mtime))
	more = protowire.AppendVarint(protowire.AppendTag(more, accessed, protowire.VarintType), millis(atime))
	err = f.callSession(ctx, idempotent, func(s *session) error {
		return s.edited("setTimes", more, func() error { return s.client.Chtimes(at, mtime, mtime) })
	})
	return time.UnixMilli(int64(millis(mtime))), err
}

// keepTime leaves a time unchanged.
const keepTime = math.MaxUint64 // -1

// millis converts a time to the format of HDFS, which has no times before 1970.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return keepTime
	}
	return uint64(max(0, t.UnixMilli()))
}

// edit changes a request to a NameNode in a way that the library cannot. It appends fields to the
// arguments: the last one of a repeated field counts.
type edit struct {
	method string
	as     string // the method to call instead, if not empty
	more   []byte // fields
	done   bool   // the request was sent with them
}

// edited makes a call of the library with more fields in its request.
func (s *session) edited(method string, more []byte, call func() error) error {
	return s.editedBy(&edit{method: method, more: more}, call)
}

func (s *session) editedBy(e *edit, call func() error) error {
	s.setEdit(e)
	err := call()
	s.setEdit(nil)
	if err == nil && !e.done {
		err = pfs.Errorf("hdfsfs.edited", "", pfs.Unsupported, "the library sends %s in another way", e.method)
	}
	return err
}

func (s *session) setEdit(e *edit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = e
}

// outgoing returns the bytes to send to the NameNode instead of p; s.mu is held.
func (s *session) outgoing(p []byte) []byte {
	if s.edit == nil {
		return p
	}
	q, ok := s.edit.apply(p)
	s.edit.done = s.edit.done || ok
	return q
}

// apply returns the request p with the fields. It returns other requests unchanged, with ok false.
//
// A request is its length in 4 bytes and three messages, each preceded by its length: two headers,
// of which the second begins with the name of the method, and the arguments.
func (e *edit) apply(p []byte) (q []byte, ok bool) {
	if len(p) < 4 {
		return p, false
	}
	rest := p[4:]
	_, n1 := protowire.ConsumeBytes(rest)
	if n1 < 0 {
		return p, false
	}
	header, n2 := protowire.ConsumeBytes(rest[n1:])
	if n2 < 0 {
		return p, false
	}
	args, n3 := protowire.ConsumeBytes(rest[n1+n2:])
	if n3 < 0 || n1+n2+n3 != len(rest) {
		return p, false
	}
	method, err := inside(header, 1)
	if err != nil || string(method) != e.method {
		return p, false
	}
	q = append(make([]byte, 4), rest[:n1]...)
	if e.as != "" {
		header = protowire.AppendBytes(protowire.AppendTag(header[:len(header):len(header)], 1, protowire.BytesType), []byte(e.as))
	}
	q = protowire.AppendBytes(q, header)
	q = protowire.AppendVarint(q, uint64(len(args)+len(e.more)))
	q = append(append(q, args...), e.more...)
	binary.BigEndian.PutUint32(q, uint32(len(q)-4))
	return q, true
}
