package hdfsfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/encoding/protowire"
)

// field appends a message or a number as a field.
func field(p []byte, number protowire.Number, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return protowire.AppendBytes(protowire.AppendTag(p, number, protowire.BytesType), v)
	case int:
		return protowire.AppendVarint(protowire.AppendTag(p, number, protowire.VarintType), uint64(v))
	}
	panic("no field")
}

// readRequest is a request to read a block.
func readRequest(block, at, n int) []byte {
	base := field(nil, 1, field(field(nil, 1, []byte("pool")), 2, block))
	body := field(field(field(nil, 1, field(nil, 1, base)), 2, at), 3, n)
	return protowire.AppendBytes([]byte{0, transferVersion, opReadBlock}, body)
}

// grant is the answer of a DataNode.
func grant(sumType, chunk, start int) []byte {
	sum := field(field(nil, 1, sumType), 2, chunk)
	return protowire.AppendBytes(nil, field(field(nil, 1, 0), 4, field(field(nil, 1, sum), 2, start)))
}

// packetOf is a packet with data and its checksums.
func packetOf(data []byte, chunk int) []byte {
	var sums []byte
	for at := 0; at < len(data); at += chunk {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+chunk, len(data))], castagnoli))
	}
	head := protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), uint32(len(data)))
	p := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(head)))
	return append(append(append(p, head...), sums...), data...)
}

// dataNode answers a request with answer and returns the bytes that the library reads.
func dataNode(t *testing.T, request, answer []byte) (got []byte, s *session, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		theirs, err := l.Accept()
		if err != nil {
			return
		}
		defer theirs.Close()
		_, _ = io.ReadFull(theirs, make([]byte, len(request))) // a refused one is not sent
		_, _ = theirs.Write(answer)
	}()
	ours, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	s = &session{cluster: &cluster{opts: Options{Timeout: 5 * time.Second}}, conns: map[net.Conn]bool{}}
	s.life, s.end = context.WithCancel(t.Context())
	c := &dataConn{Conn: ours, s: s, dataNode: "dn", timeout: 5 * time.Second}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return nil, s, err
	}
	got, err = io.ReadAll(c)
	return got, s, err
}

// TestDataConn passes correct bytes unchanged, and no wrong ones.
func TestDataConn(t *testing.T) {
	data := pfstest.Pattern(1, 1300)
	request, ok := readRequest(77, 512, 1300), grant(2, 512, 512)
	good := packetOf(data, 512)
	for at := range len(good) {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		got, s, err := dataNode(t, request, append(bytes.Clone(ok), bad...))
		if !bytes.Equal(got, ok) {
			t.Fatalf("byte %d flipped: %d bytes of the packet were delivered", at, len(got)-len(ok))
		}
		if err == nil && len(s.found.lost) == 0 {
			t.Fatalf("byte %d flipped: no error", at)
		}
		if d := s.found.damaged; errors.Is(err, errDamaged) && (len(d) != 1 || d[0].block != 77 || d[0].dataNode != "dn") {
			t.Fatalf("byte %d flipped: damage %+v", at, d)
		}
	}
	whole := append(append(bytes.Clone(ok), good...), packetOf(nil, 512)...)
	got, s, err := dataNode(t, request, whole)
	if err != nil || !bytes.Equal(got, whole) || len(s.found.damaged)+len(s.found.lost) > 0 {
		t.Errorf("%d bytes of %d, error %v, findings %+v", len(got), len(whole), err, s.found)
	}
}

// TestDataConnRefuses checks that unverifiable data is refused.
func TestDataConnRefuses(t *testing.T) {
	data := packetOf(pfstest.Pattern(1, 100), 512)
	for name, c := range map[string]struct{ request, answer []byte }{
		"no checksums":       {readRequest(1, 0, 100), append(grant(0, 512, 0), data...)},
		"unknown checksums":  {readRequest(1, 0, 100), append(grant(9, 512, 0), data...)},
		"chunks of 0":        {readRequest(1, 0, 100), append(grant(2, 0, 0), data...)},
		"a wrapped request":  {append([]byte{0, 0, 0, 99}, readRequest(1, 0, 100)...), data},
		"another operation":  {[]byte{0, transferVersion, 99, 0}, data},
		"an endless length":  {readRequest(1, 0, 100), bytes.Repeat([]byte{0xff}, 100)},
		"a packet too large": {readRequest(1, 0, 100), append(grant(2, 512, 0), 0x7f, 0xff, 0xff, 0xff, 0, 0)},
	} {
		got, _, err := dataNode(t, c.request, c.answer)
		if err == nil || bytes.Contains(got, data[len(data)-100:]) {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
	}
}

// FuzzDataConn takes any answer without a panic, and delivers no packet that does not
// have its checksums.
func FuzzDataConn(f *testing.F) {
	data := pfstest.Pattern(1, 600)
	f.Add(append(grant(2, 512, 0), packetOf(data, 512)...))
	f.Add(grant(1, 1, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, _, _ := dataNode(t, readRequest(1, 0, 600), answer)
		if !bytes.HasPrefix(answer, got) {
			t.Errorf("delivered are %d bytes that were not sent", len(got))
		}
	})
}
