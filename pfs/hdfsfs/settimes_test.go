package hdfsfs

import (
	"encoding/binary"
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

func TestEdit(t *testing.T) {
	args := field(field(field(nil, 1, []byte("/a/b")), 2, 1_000_000_000_000), 3, 1_000_000_000_000)
	sent := request("setTimes", args)
	e := edit{method: "setTimes", as: "other", more: field(field(nil, 2, 1_234_567_890_123), 3, 7)}
	q, ok := e.apply(sent)
	if !ok || int(binary.BigEndian.Uint32(q)) != len(q)-4 {
		t.Fatalf("apply: %v, %x", ok, q)
	}
	rest := q[4:]
	var header []byte
	for range 2 {
		var n int
		header, n = protowire.ConsumeBytes(rest)
		rest = rest[n:]
	}
	if method, _ := inside(header, 1); string(method) != "other" {
		t.Errorf("the method is %q", method)
	}
	got := map[protowire.Number]any{}
	body, _ := protowire.ConsumeBytes(rest)
	must(t, fields(body, func(number protowire.Number, v uint64, b []byte) {
		if got[number] = v; b != nil {
			got[number] = string(b)
		}
	}))
	if got[1] != "/a/b" || got[2] != uint64(1_234_567_890_123) || got[3] != uint64(7) {
		t.Errorf("the request is %v", got)
	}
	for n := range sent {
		if _, ok := e.apply(sent[:n]); ok {
			t.Errorf("the first %d bytes are taken for a request", n)
		}
	}
	if _, ok := e.apply(request("setOwner", args)); ok {
		t.Error("another call is taken for setTimes")
	}
}
