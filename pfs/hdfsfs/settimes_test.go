package hdfsfs

import (
	"encoding/binary"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// request is a request to a NameNode as the library sends it.
func request(method string, args []byte) []byte {
	p := protowire.AppendBytes(make([]byte, 4), field(nil, 3, 7))
	p = protowire.AppendBytes(p, field(field(nil, 1, []byte(method)), 2, []byte("protocol")))
	p = protowire.AppendBytes(p, args)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

func TestWithTime(t *testing.T) {
	args := field(field(field(nil, 1, []byte("/a/b")), 2, 1_000_000_000_000), 3, 1_000_000_000_000)
	sent := request("setTimes", args)
	q, ok := withTime(sent, 1_234_567_890_123, keepTime)
	if !ok || int(binary.BigEndian.Uint32(q)) != len(q)-4 {
		t.Fatalf("withTime: %v, %x", ok, q)
	}
	rest := q[4:]
	for range 2 {
		_, n := protowire.ConsumeBytes(rest)
		rest = rest[n:]
	}
	got := map[protowire.Number]any{}
	body, _ := protowire.ConsumeBytes(rest)
	must(t, fields(body, func(number protowire.Number, v uint64, b []byte) {
		if got[number] = v; b != nil {
			got[number] = string(b)
		}
	}))
	if got[1] != "/a/b" || got[2] != uint64(1_234_567_890_123) || got[3] != uint64(math.MaxUint64) {
		t.Errorf("the request is %v", got)
	}
	for n := range sent {
		if _, ok := withTime(sent[:n], 1, 1); ok {
			t.Errorf("the first %d bytes are taken for a request", n)
		}
	}
	if _, ok := withTime(request("setOwner", args), 1, 1); ok {
		t.Error("another call is taken for setTimes")
	}
}
