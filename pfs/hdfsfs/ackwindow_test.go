package hdfsfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// numbered is an empty packet with that number.
func numbered(seqno int64, last bool) []byte {
	head := protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), uint64(seqno))
	head = protowire.AppendVarint(protowire.AppendTag(head, 3, protowire.VarintType), protowire.EncodeBool(last))
	p := binary.BigEndian.AppendUint32(nil, 4)
	p = binary.BigEndian.AppendUint16(p, uint16(len(head)))
	return append(p, head...)
}

// failedAck is what DataNodes say of a packet that one of them could not take.
func failedAck(seqno int64) []byte {
	body := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeZigZag(seqno))
	for _, status := range []uint64{0, 1} {
		body = protowire.AppendVarint(protowire.AppendTag(body, 2, protowire.VarintType), status)
	}
	return protowire.AppendBytes(nil, body)
}

// TestAckWindow gives acknowledgements ahead, but the one of the last packet only when
// the DataNodes have sent all.
func TestAckWindow(t *testing.T) {
	acks := func(from, to int64) (all []byte) {
		for n := from; n <= to; n++ {
			all = append(all, encodeAck(n)...)
		}
		return all
	}
	heartbeat := encodeAck(-1)
	for _, c := range []struct {
		name    string
		answers []byte // of the DataNodes, before they are lost
		packets int64  // that are sent, the last one of them the last of the block
		want    int64  // that are acknowledged
		failed  bool   // the one after these is refused, which is not a lost connection
	}{
		{"silent", nil, 5, 4, false},
		{"silent for long", nil, mostAhead + 9, mostAhead, false},
		{"some", acks(1, 3), mostAhead + 9, mostAhead + 3, false},
		{"all but the last", acks(1, 7), 8, 7, false},
		{"all", acks(1, 8), 8, 8, false},
		{"heartbeats between", append(append(acks(1, 2), heartbeat...), acks(3, 4)...), 4, 4, false},
		{"a gap", append(acks(1, 2), acks(4, 8)...), 8, 7, false},
		{"a failure before the last", append(acks(1, 2), failedAck(3)...), 8, 7, true},
		{"a failure far back", failedAck(1), mostAhead + 9, mostAhead, true},
	} {
		w := newAckWindow(bufio.NewReader(bytes.NewReader(c.answers)))
		var got int64
		for n := int64(1); n <= c.packets; n++ {
			must(t, w.note(numbered(n, n == c.packets)))
			ack, err := w.next(nil)
			seqno, good, _ := parseAck(ack[min(1, len(ack)):])
			if err != nil || !good {
				if refused := err == nil; refused != c.failed {
					t.Errorf("%s: packet %d: %v, want a refusal: %v", c.name, n, err, c.failed)
				}
				break
			}
			if seqno != n {
				t.Errorf("%s: packet %d is acknowledged as %d", c.name, n, seqno)
			}
			got = n
		}
		if got != c.want {
			t.Errorf("%s: %d packets are acknowledged, want %d", c.name, got, c.want)
		}
	}
}

// TestAckWindowEnds lets nobody wait for a connection or a session that is over.
func TestAckWindowEnds(t *testing.T) {
	over := make(chan struct{})
	close(over)
	w := newAckWindow(bufio.NewReader(bytes.NewReader(nil)))
	if _, err := w.next(over); !errors.Is(err, net.ErrClosed) {
		t.Errorf("next after the session: %v, want %v", err, net.ErrClosed)
	}
	w.close()
	w.close()
	if _, err := w.next(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("next after close: %v, want %v", err, net.ErrClosed)
	}
}

// TestAckWindowHeartbeat waits for no acknowledgement of a heartbeat.
func TestAckWindowHeartbeat(t *testing.T) {
	w := newAckWindow(bufio.NewReader(bytes.NewReader(nil)))
	must(t, w.note(numbered(-1, false)))
	if len(w.sent) != 0 {
		t.Error("a heartbeat is waited for")
	}
	if err := w.note([]byte("?")); !errors.Is(err, errMalformed) || err == io.EOF {
		t.Errorf("what is no packet: %v, want %v", err, errMalformed)
	}
}
