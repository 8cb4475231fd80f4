package hdfsfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/encoding/protowire"
)

// sentPacket is a packet as the library sends it.
func sentPacket(seqno, offset int64, last bool, data []byte) []byte {
	head := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(offset))
	head = protowire.AppendFixed64(protowire.AppendTag(head, 2, protowire.Fixed64Type), uint64(seqno))
	head = protowire.AppendVarint(protowire.AppendTag(head, 3, protowire.VarintType), protowire.EncodeBool(last))
	head = protowire.AppendFixed32(protowire.AppendTag(head, 4, protowire.Fixed32Type), uint32(len(data)))
	var sums []byte
	for at := 0; at < len(data); at += checksumChunk {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+checksumChunk, len(data))], castagnoli))
	}
	p := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(head)))
	return append(append(append(p, head...), sums...), data...)
}

// failedAck is what DataNodes say of a packet that one of them could not take.
func failedAck(seqno int64) []byte {
	body := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeZigZag(seqno))
	for _, status := range []uint64{0, 1} {
		body = protowire.AppendVarint(protowire.AppendTag(body, 2, protowire.VarintType), status)
	}
	return protowire.AppendBytes(nil, body)
}

// wire is a connection whose other end has written in already and takes all.
type wire struct {
	net.Conn
	out bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) { return w.out.Write(p) }

// newTestFlow is a flow whose DataNodes answer as given, and are lost then.
func newTestFlow(answers []byte) (*blockFlow, *wire) {
	w := &wire{}
	return newBlockFlow(w, bufio.NewReader(bytes.NewReader(answers))), w
}

// packets takes apart what was sent.
func (w *wire) packets(t *testing.T) (ids []packetID, data []byte) {
	t.Helper()
	for all := w.out.Bytes(); len(all) > 0; {
		n, _, err := packetLength(all)
		must(t, err)
		id, err := parsePacketID(all[:n])
		must(t, err)
		sums, part, err := parsePacket(all[:n])
		must(t, err)
		var want []byte
		for at := 0; at < len(part); at += checksumChunk {
			want = binary.BigEndian.AppendUint32(want, crc32.Checksum(part[at:min(at+checksumChunk, len(part))], castagnoli))
		}
		if !bytes.Equal(sums, want) {
			t.Errorf("packet %d has wrong checksums", id.seqno)
		}
		if id.seqno >= 0 && id.offset != int64(len(data)) {
			t.Errorf("packet %d is of offset %d, want %d", id.seqno, id.offset, len(data))
		}
		ids, data = append(ids, id), append(data, part...)
		all = all[n:]
	}
	return ids, data
}

// TestBlockFlowJoins sends packets joined to rows, in order, with nothing left out, and
// what the library waits for is never kept back.
func TestBlockFlowJoins(t *testing.T) {
	const whole = 2 * checksumChunk
	for _, c := range []struct {
		name   string
		length func(n int64) int64 // of the data of packet n
		few    bool                // the DataNodes get less than half as many packets
	}{
		{"whole chunks", func(int64) int64 { return whole }, true},
		{"a short one now and then", func(n int64) int64 { return whole - n%50/49 }, true},
		{"only short ones", func(int64) int64 { return whole - 1 }, false},
	} {
		f, w := newTestFlow(nil)
		const packets = 300
		want := pfstest.Pattern(1, packets*whole)[:0]
		for n := int64(1); n <= packets; n++ {
			data := pfstest.Pattern(uint64(n), int(c.length(n)))
			must(t, f.send(sentPacket(n, int64(len(want)), false, data)))
			<-f.packets
			want = append(want, data...)
			for {
				select {
				case sent := <-f.rows:
					f.have = sent
					continue
				default:
				}
				break
			}
			if n-ahead(n) > f.have {
				t.Fatalf("%s: packet %d waits for what was not sent", c.name, n)
			}
		}
		must(t, f.send(sentPacket(-1, 0, false, nil)))
		must(t, f.send(sentPacket(packets+1, int64(len(want)), true, nil)))
		ids, got := w.packets(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes were sent than were given", c.name)
		}
		if end := ids[len(ids)-1]; !end.last || end.seqno != packets+1 {
			t.Errorf("%s: the last packet is %+v", c.name, end)
		}
		if few := len(ids) < packets/2; few != c.few {
			t.Errorf("%s: %d packets became %d", c.name, packets, len(ids))
		}
	}
}

// TestBlockFlowAcknowledges gives acknowledgements ahead, but the one of the last packet
// only when the DataNodes have sent all.
func TestBlockFlowAcknowledges(t *testing.T) {
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
		{"silent", nil, 5, 0, false},
		{"the first half", acks(1, 3), 9, 6, false},
		{"all but the last", acks(1, 7), 8, 7, false},
		{"all", acks(1, 8), 8, 8, false},
		{"heartbeats between", append(append(acks(1, 2), heartbeat...), acks(3, 4)...), 4, 4, false},
		{"a gap", append(acks(1, 2), acks(4, 8)...), 8, 4, false},
		{"of what was not sent", append(acks(1, 2), encodeAck(99)...), 8, 4, false},
		{"a failure at once", failedAck(1), 8, 0, true},
		{"a failure later", append(acks(1, 3), failedAck(4)...), 9, 6, true},
		{"a failure of the last", append(acks(1, 7), failedAck(8)...), 8, 7, true},
	} {
		f, _ := newTestFlow(c.answers)
		var got int64
		for n := int64(1); n <= c.packets; n++ {
			// Short packets are not joined: each has its acknowledgement.
			must(t, f.send(sentPacket(n, (n-1)*10, n == c.packets, []byte("0123456789"))))
			if f.row.n > 0 {
				must(t, f.flush())
			}
			ack, err := f.next(nil)
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

// TestBlockFlowEnds lets nobody wait for a connection or a session that is over.
func TestBlockFlowEnds(t *testing.T) {
	over := make(chan struct{})
	close(over)
	f, _ := newTestFlow(nil)
	if _, err := f.next(over); !errors.Is(err, net.ErrClosed) {
		t.Errorf("next after the session: %v, want %v", err, net.ErrClosed)
	}
	f.close()
	f.close()
	if _, err := f.next(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("next after close: %v, want %v", err, net.ErrClosed)
	}
}

// TestBlockFlowFailed takes what the library still sends after a failure, of which it does
// not read on: nothing waits, says that it was sent, or is acknowledged.
func TestBlockFlowFailed(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []byte
	}{
		{"a failure of a DataNode behind the first", failedAck(1)},
		{"a lost connection", nil},
	} {
		f, _ := newTestFlow(c.answers)
		must(t, f.send(sentPacket(1, 0, false, []byte("0123456789"))))
		f.next(nil)
		const packets = 100
		ended := make(chan error)
		go func() {
			for n := int64(2); n < packets; n++ {
				if err := f.send(sentPacket(n, (n-1)*10, false, []byte("0123456789"))); err == nil {
					ended <- fmt.Errorf("packet %d is taken", n)
					return
				}
			}
			ended <- nil
		}()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: a packet waits to be taken", c.name)
		}
		if err := f.send(sentPacket(packets, 0, true, nil)); err == nil {
			t.Errorf("%s: the last packet is taken", c.name)
		}
		if ack, err := f.next(nil); err == nil {
			t.Errorf("%s: something is acknowledged: %x", c.name, ack)
		}
	}
}

// TestBlockFlowMalformed refuses what it does not understand, and waits for no
// acknowledgement of a heartbeat.
func TestBlockFlowMalformed(t *testing.T) {
	f, w := newTestFlow(nil)
	must(t, f.send(sentPacket(-1, 0, false, nil)))
	if len(f.packets) != 0 || len(f.rows) != 0 {
		t.Error("a heartbeat is waited for")
	}
	w.out.Reset()
	if err := f.send([]byte("?")); !errors.Is(err, errMalformed) || w.out.Len() > 0 {
		t.Errorf("what is no packet: %v, want %v", err, errMalformed)
	}
}
