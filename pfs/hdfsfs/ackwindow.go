package hdfsfs

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// mostAhead is the number of packets whose acknowledgement the library is given before
// the DataNodes have sent it. With its own few packets on their way it would wait for
// each of them to pass all DataNodes; this lets about 2 MiB be on the way, less than
// the first piece of a file, so that a pipeline that does not work is still noticed in it.
const mostAhead = 26

// ackWindow stands between the acknowledgements of the DataNodes and the library, while
// a block is written. The last packet of the block is acknowledged only when all are, so
// a block that the library could close is one that all DataNodes have.
type ackWindow struct {
	in   *bufio.Reader // from the DataNode
	sent chan packetID // packets whose acknowledgement the library waits for
	have int64         // sequence number up to which the DataNodes have acknowledged

	gone chan struct{} // closed with the connection
	once sync.Once
}

// packetID is what matters of the header of a packet.
type packetID struct {
	seqno int64
	last  bool // of its block
}

func newAckWindow(in *bufio.Reader) *ackWindow {
	const most = 16 // more than the library has on its way
	return &ackWindow{in: in, sent: make(chan packetID, most), gone: make(chan struct{})}
}

// close ends a next that waits for a packet.
func (w *ackWindow) close() { w.once.Do(func() { close(w.gone) }) }

// note takes what the library has sent.
func (w *ackWindow) note(p []byte) error {
	id, err := parsePacketID(p)
	if err != nil || id.seqno < 0 {
		return err // a heartbeat has no number
	}
	select {
	case w.sent <- id:
		return nil
	case <-w.gone:
		return net.ErrClosed
	}
}

// next returns the acknowledgement that the library gets next, with its length before it.
// One of a failure is passed on as it is. It also ends when the session does.
func (w *ackWindow) next(end <-chan struct{}) ([]byte, error) {
	var id packetID
	select {
	case id = <-w.sent:
	case <-w.gone:
		return nil, net.ErrClosed
	case <-end:
		return nil, net.ErrClosed
	}
	need := id.seqno - mostAhead
	if id.last {
		need = id.seqno
	}
	for w.have < need {
		m, err := readMessage(w.in)
		if err != nil {
			return nil, err
		}
		seqno, good, err := parseAck(m.body)
		switch {
		case err != nil:
			return nil, err
		case !good:
			return m.all, nil
		case seqno < 0: // of a heartbeat
		case w.have != 0 && seqno != w.have+1:
			return nil, errMalformed
		default:
			w.have = seqno
		}
	}
	return encodeAck(id.seqno), nil
}

// parsePacketID reads the header of a packet.
func parsePacketID(p []byte) (id packetID, err error) {
	if len(p) < packetStart {
		return id, errMalformed
	}
	head := packetStart + int(binary.BigEndian.Uint16(p[4:]))
	if head > len(p) {
		return id, errMalformed
	}
	return id, fields(p[packetStart:head], func(number protowire.Number, v uint64, _ []byte) {
		switch number {
		case 2:
			id.seqno = int64(v)
		case 3:
			id.last = v != 0
		}
	})
}

// parseAck reads a PipelineAckProto. It is good if no DataNode reports a failure.
func parseAck(p []byte) (seqno int64, good bool, err error) {
	good = true
	err = fields(p, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 1:
			seqno = protowire.DecodeZigZag(v)
		case 2:
			good = good && v == 0 && len(b) == 0
		}
	})
	return seqno, good, err
}

// encodeAck is a PipelineAckProto of one success, with its length before it.
func encodeAck(seqno int64) []byte {
	body := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeZigZag(seqno))
	body = protowire.AppendVarint(protowire.AppendTag(body, 2, protowire.VarintType), 0)
	return protowire.AppendBytes(nil, body)
}
