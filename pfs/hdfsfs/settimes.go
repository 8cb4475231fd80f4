package hdfsfs

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// HDFS keeps milliseconds. The library sends whole seconds, and sets the access time too, which
// a cluster that keeps none refuses. So the connection replaces the library's request.

// setTime sets the modification time of a path in HDFS and returns the time that is kept.
func (f *FS) setTime(ctx context.Context, at string, mtime time.Time) (kept time.Time, err error) {
	ms := max(0, mtime.UnixMilli())
	err = f.callSession(ctx, idempotent, func(s *session) error {
		s.beginSetTime(ms)
		seconds := time.Unix(ms/1000, 0)
		err := s.client.Chtimes(at, seconds, seconds)
		if kept = seconds; s.endSetTime() {
			kept = time.UnixMilli(ms)
		}
		return err
	})
	return kept, err
}

// newTime is the time in the setTimes request of a session.
type newTime struct {
	ms    uint64 // since 1970
	exact bool   // the request was sent with it
}

func (s *session) beginSetTime(ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = &newTime{ms: uint64(ms)}
}

// endSetTime reports whether the request was sent with milliseconds.
func (s *session) endSetTime() (exact bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exact = s.time.exact
	s.time = nil
	return exact
}

// outgoing returns the bytes to send to the NameNode instead of p; s.mu is held.
func (s *session) outgoing(p []byte) []byte {
	if s.time == nil {
		return p
	}
	q, ok := withTime(p, s.time.ms)
	s.time.exact = s.time.exact || ok
	return q
}

// withTime replaces the times of a setTimes request: the modification time becomes ms, and the
// access time stays as it is. What is no such request is returned as it is, with ok false.
//
// A request is its length in 4 bytes and three messages, each behind its length: two headers, of
// which the second begins with the name of the method, and the arguments.
func withTime(p []byte, ms uint64) (q []byte, ok bool) {
	const path, modified, accessed = 1, 2, 3 // fields of SetTimesRequestProto
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
	if err != nil || string(method) != "setTimes" {
		return p, false
	}
	at, err := inside(args, path)
	if err != nil {
		return p, false
	}
	body := protowire.AppendBytes(protowire.AppendTag(nil, path, protowire.BytesType), at)
	body = protowire.AppendVarint(protowire.AppendTag(body, modified, protowire.VarintType), ms)
	body = protowire.AppendVarint(protowire.AppendTag(body, accessed, protowire.VarintType), math.MaxUint64) // -1: as it is
	q = append(make([]byte, 4), rest[:n1+n2]...)
	q = protowire.AppendBytes(q, body)
	binary.BigEndian.PutUint32(q, uint32(len(q)-4))
	return q, true
}
