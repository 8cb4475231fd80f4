package hdfsfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// The library sends packets of 64 KiB and waits for each of the last five to pass all
// DataNodes. maxAhead is the number of packets whose acknowledgement it is given before
// they have sent it, 5 MiB as Hadoop's own client has on its way, and maxJoined that of
// those that are sent as one, because a DataNode has the same work for each. Both begin
// small with each block, so that half of what is written first, which can be written
// again, was really acknowledged: a pipeline that does not work is noticed in it.
const (
	maxAhead  = 80
	maxJoined = 8
)

// ahead is the number of packets before the one with this number, counted from 1, that
// need not be acknowledged for it to be.
func ahead(seqno int64) int64 { return min(maxAhead, seqno/2) }

// joined is the number of packets that are sent as one with this one. It is less than
// ahead, so that nothing is waited for that was not sent.
func joined(seqno int64) int { return int(min(maxJoined, max(1, seqno/4))) }

// errNotStored says that DataNodes have refused a packet.
var errNotStored = errors.New("a DataNode of the pipeline could not store what it was sent")

// blockFlow stands between the library and the DataNodes while a block is written. The
// last packet of the block is acknowledged only when all are, so a block that the
// library could close is one that all DataNodes have.
type blockFlow struct {
	conn net.Conn
	in   *bufio.Reader // acknowledgements
	mu   sync.Mutex    // held while something is sent
	row  row           // that is to be sent

	packets chan packetID // whose acknowledgement the library waits for
	rows    chan int64    // numbers of what was sent and not yet acknowledged
	have    int64         // number up to which the DataNodes have acknowledged

	gone  chan struct{} // closed when the block cannot be stored any more, or need not
	cause error         // why, valid from then on
	once  sync.Once
}

// packetID is what matters of the header of a packet.
type packetID struct {
	seqno, offset int64
	last          bool // of its block
}

// row is packets that are sent as one.
type row struct {
	id         packetID // with the offset of the first and the number of the last
	n          int
	sums, data []byte
}

func newBlockFlow(conn net.Conn, in *bufio.Reader) *blockFlow {
	const maxLibrary = 16 // more than the library has on its way
	return &blockFlow{
		conn: conn, in: in,
		packets: make(chan packetID, maxLibrary), rows: make(chan int64, maxAhead+maxLibrary),
		gone: make(chan struct{}),
	}
}

// close ends whoever waits for something of the flow, and the connection. cause is what
// they are told.
func (f *blockFlow) close(cause error) {
	f.once.Do(func() {
		f.cause = cause
		close(f.gone)
		f.conn.Close()
	})
}

// failed returns why the block cannot be stored any more; nil if it still can.
func (f *blockFlow) failed() error {
	select {
	case <-f.gone:
		return f.cause
	default:
		return nil
	}
}

// send takes a packet of the library. It is sent at once, or with some after it. Once
// something failed it fails at once: nobody takes acknowledgements any more then.
func (f *blockFlow) send(p []byte) error {
	err := f.failed()
	if err == nil {
		err = f.pass(p)
	}
	if err != nil {
		f.close(err)
	}
	return err
}

// pass is send while nothing has failed.
func (f *blockFlow) pass(p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, err := parsePacketID(p)
	if err != nil {
		return err
	}
	sums, data, err := parsePacket(p)
	if err != nil {
		return err
	}
	limit := joined(id.seqno)
	alone := id.seqno < 0 || id.last || limit == 1
	if alone || id.offset != f.row.end() || f.row.ragged() {
		if err := f.flush(); err != nil {
			return err
		}
	}
	if alone {
		err = f.sendPacket(id.seqno, p)
	} else if f.row.add(id, sums, data); f.row.n >= limit {
		err = f.flush()
	}
	if err != nil || id.seqno < 0 { // a heartbeat has no number
		return err
	}
	return hand(f, f.packets, id)
}

// flush sends the row.
func (f *blockFlow) flush() error {
	if f.row.n == 0 {
		return nil
	}
	head, data := f.row.take()
	return f.sendPacket(f.row.id.seqno, head, data)
}

// sendPacket sends the pieces of a packet.
func (f *blockFlow) sendPacket(seqno int64, pieces ...[]byte) error {
	if seqno >= 0 {
		if err := hand(f, f.rows, seqno); err != nil {
			return err
		}
	}
	all := net.Buffers(pieces)
	_, err := all.WriteTo(f.conn)
	return err
}

// hand gives v to the goroutine that reads acknowledgements.
func hand[T any](f *blockFlow, to chan T, v T) error {
	select {
	case to <- v:
		return nil
	case <-f.gone:
		return f.cause
	}
}

// next returns the acknowledgement that the library gets next, with its length before it.
// One of a failure is passed on as it is, and the last. It also ends when the session does.
func (f *blockFlow) next(end <-chan struct{}) ([]byte, error) {
	ack, refused, err := f.acknowledge(end)
	switch {
	case err != nil:
		f.close(err)
	case refused:
		f.close(errNotStored)
	}
	return ack, err
}

func (f *blockFlow) acknowledge(end <-chan struct{}) (ack []byte, refused bool, err error) {
	var id packetID
	select {
	case id = <-f.packets:
	case <-f.gone:
		return nil, false, f.cause
	case <-end:
		return nil, false, net.ErrClosed
	}
	need := id.seqno
	if !id.last {
		need -= ahead(id.seqno)
	}
	for f.have < need {
		ack, err := f.receive()
		if ack != nil || err != nil {
			return ack, err == nil, err
		}
	}
	return encodeAck(id.seqno), false, nil
}

// receive takes one acknowledgement of the DataNodes. It returns one of a failure.
func (f *blockFlow) receive() (refused []byte, err error) {
	m, err := readMessage(f.in)
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
		return nil, nil
	}
	select {
	case sent := <-f.rows:
		if sent == seqno {
			f.have = seqno
			return nil, nil
		}
	default:
	}
	return nil, errMalformed // of what was not sent, or not in its turn
}

// end is the offset of what comes behind the row.
func (r *row) end() int64 { return r.id.offset + int64(len(r.data)) }

// ragged reports whether the last chunk of the row is not whole, so that its checksum is
// not followed by another one.
func (r *row) ragged() bool { return len(r.data)%checksumChunk != 0 }

// add puts a packet at the end.
func (r *row) add(id packetID, sums, data []byte) {
	if r.n == 0 {
		r.id.offset = id.offset
	}
	r.id.seqno = id.seqno
	r.n++
	r.sums, r.data = append(r.sums, sums...), append(r.data, data...)
}

// take empties the row and returns the packet that it is, the data apart, valid until
// the next add.
func (r *row) take() (head, data []byte) {
	header := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(r.id.offset))
	header = protowire.AppendFixed64(protowire.AppendTag(header, 2, protowire.Fixed64Type), uint64(r.id.seqno))
	header = protowire.AppendVarint(protowire.AppendTag(header, 3, protowire.VarintType), 0)
	header = protowire.AppendFixed32(protowire.AppendTag(header, 4, protowire.Fixed32Type), uint32(len(r.data)))
	head = binary.BigEndian.AppendUint32(nil, uint32(4+len(r.sums)+len(r.data)))
	head = binary.BigEndian.AppendUint16(head, uint16(len(header)))
	head = append(append(head, header...), r.sums...)
	data = r.data
	r.n, r.sums, r.data = 0, r.sums[:0], r.data[:0]
	return head, data
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
		case 1:
			id.offset = int64(v)
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
