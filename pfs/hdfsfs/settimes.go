package hdfsfs

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/protobuf/encoding/protowire"
)

// HDFS keeps milliseconds. The library sends whole seconds, and always both times, of which a cluster that keeps no
// access times refuses one. So the connection replaces the library's request.

// setTimes sets the times of a path in HDFS, of which the zero time keeps one, and returns the modification time
// as HDFS keeps it.
func (f *FS) setTimes(ctx context.Context, at string, mtime, atime time.Time) (kept time.Time, err error) {
	times := newTime{modified: millis(mtime), accessed: millis(atime)}
	err = f.callSession(ctx, idempotent, func(s *session) error {
		s.beginSetTime(times)
		err := s.client.Chtimes(at, mtime, mtime)
		if exact := s.endSetTime(); err == nil && !exact {
			err = pfs.Errorf("hdfsfs.setTimes", "", pfs.Unsupported, "the library sends times in another way")
		}
		return err
	})
	return time.UnixMilli(int64(times.modified)), err
}

// keepTime stands for a time that stays as it is.
const keepTime = math.MaxUint64 // -1

// millis returns a time as HDFS keeps it, which has none before 1970.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return keepTime
	}
	return uint64(max(0, t.UnixMilli()))
}

// newTime are the times in the setTimes request of a session, in milliseconds since 1970.
type newTime struct {
	modified, accessed uint64
	exact              bool // the request was sent with them
}

func (s *session) beginSetTime(times newTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = &times
}

// endSetTime reports whether the request was sent with these times.
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
	q, ok := withTime(p, s.time.modified, s.time.accessed)
	s.time.exact = s.time.exact || ok
	return q
}

// withTime replaces the times of a setTimes request. What is no such request is returned as it is, with ok false.
//
// A request is its length in 4 bytes and three messages, each behind its length: two headers, of
// which the second begins with the name of the method, and the arguments.
func withTime(p []byte, mtime, atime uint64) (q []byte, ok bool) {
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
	body = protowire.AppendVarint(protowire.AppendTag(body, modified, protowire.VarintType), mtime)
	body = protowire.AppendVarint(protowire.AppendTag(body, accessed, protowire.VarintType), atime)
	q = append(make([]byte, 4), rest[:n1+n2]...)
	q = protowire.AppendBytes(q, body)
	binary.BigEndian.PutUint32(q, uint32(len(q)-4))
	return q, true
}
