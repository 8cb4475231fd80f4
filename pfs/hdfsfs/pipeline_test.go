package hdfsfs

import (
	"bytes"
	"slices"
	"testing"

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

// dataNodeInfo is a DatanodeInfoProto.
func dataNodeInfo(ip, host string, port int) []byte {
	return field(field(nil, 1, field(field(field(nil, 1, []byte(ip)), 2, []byte(host)), 4, port)), 3, 7)
}

// writeBody is a request to write a block, behind its length.
func writeBody(targets ...[]byte) []byte {
	body := field(nil, 1, []byte("header"))
	for _, t := range targets {
		body = field(body, 2, t)
	}
	return field(field(body, 4, 6), 5, len(targets))
}

// TestWriteRequest leaves out the targets that are dropped, and nothing else.
func TestWriteRequest(t *testing.T) {
	b, c := dataNodeInfo("10.0.0.2", "b", 9866), dataNodeInfo("10.0.0.3", "c", 9866)
	parse := func(p []byte, byName bool) *writeRequest {
		t.Helper()
		q, err := parseWriteRequest(protowire.AppendBytes(nil, p), byName)
		must(t, err)
		return q
	}
	if got := parse(writeBody(b, c), false).addresses(); !slices.Equal(got, []string{"10.0.0.2:9866", "10.0.0.3:9866"}) {
		t.Errorf("addresses %v", got)
	}
	q := parse(writeBody(b, c), true)
	if got := q.named("10.0.0.3:9866"); got != "c:9866" {
		t.Errorf("10.0.0.3:9866 is %q, want c:9866", got)
	}
	q.drop([]string{"b:9866"})
	sent := q.encode()
	if !bytes.HasPrefix(sent, []byte{0, transferVersion, opWriteBlock}) {
		t.Fatalf("the request begins with %v", sent[:3])
	}
	body, _ := protowire.ConsumeBytes(sent[3:])
	all := map[protowire.Number][]any{}
	must(t, fields(body, func(number protowire.Number, v uint64, b []byte) { all[number] = append(all[number], v, string(b)) }))
	if len(all[2]) != 2 || all[2][1] != string(c) || all[1][1] != "header" || all[4][0] != uint64(6) || all[5][0] != uint64(1) {
		t.Errorf("the fields are %v", all)
	}
	for n := range len(writeBody(b)) {
		if _, err := parseWriteRequest(protowire.AppendBytes(nil, writeBody(b))[:n], false); err == nil {
			t.Errorf("%d bytes of a request are no error", n)
		}
	}
}

// TestPipelines takes two DataNodes at least while two are known, whatever the NameNode
// offers.
func TestPipelines(t *testing.T) {
	offer := func(ips ...string) *writeRequest {
		q := &writeRequest{}
		for _, ip := range ips {
			q.targets = append(q.targets, target{address: ip})
		}
		return q
	}
	for name, c := range map[string]struct {
		try    int
		bad    []string
		first  string
		others []string
		left   []string // nil if it is refused
	}{
		"all alive":                {0, nil, "a", []string{"b", "c"}, []string{"b", "c"}},
		"another choice may help":  {0, []string{"b"}, "a", []string{"b", "c"}, nil},
		"no other choice is known": {2, []string{"b"}, "a", []string{"b", "c"}, []string{"c"}},
		"the first is dead":        {2, []string{"a"}, "a", []string{"b", "c"}, []string{"b", "c"}},
		"one of two is dead":       {2, []string{"b"}, "a", []string{"b"}, nil},
		"two are dead":             {2, []string{"a", "b"}, "a", []string{"b", "c"}, []string{"c"}},
		"one is offered of three":  {9, nil, "a", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newDataNodes()
			n.see([]string{"a", "b", "c"})
			w := newPipelines(n, 3)
			for _, address := range c.bad {
				w.blame(address)
			}
			w.next(c.try)
			q := offer(c.others...)
			without, err := w.choose(c.first, q)
			if (err == nil) != (c.left != nil) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (!slices.Equal(q.addresses(), c.left) || without != slices.Contains(c.bad, c.first)) {
				t.Errorf("left are %v, without the first %v; want %v", q.addresses(), without, c.left)
			}
		})
	}
	w := newPipelines(newDataNodes(), 3)
	w.next(0)
	if _, err := w.choose("a", offer()); err != nil {
		t.Errorf("the only DataNode of a cluster is refused: %v", err)
	}
}

// TestRefusal names the DataNode that a pipeline could not be built with.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		answer []byte
		bad    string
		fails  bool
	}{
		{field(nil, 1, 0), "", false},
		{field(field(nil, 1, 1), 2, []byte("10.0.0.2:9866")), "10.0.0.2:9866", true},
		{field(field(nil, 1, 1), 5, []byte("no space")), "", true},
		{[]byte{0xff}, "", true},
	} {
		if bad, err := refusal(c.answer); bad != c.bad || (err != nil) != c.fails {
			t.Errorf("refusal(%v) = %q, %v", c.answer, bad, err)
		}
	}
}
