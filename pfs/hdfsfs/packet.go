package hdfsfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed says that a DataNode or the library does not speak the protocol.
var errMalformed = errors.New("the data transfer protocol is not followed")

const (
	// mostMessage and mostPacket bound what is taken into memory because a length
	// says so, in bytes. Hadoop allows packets of 16 MiB itself.
	mostMessage = 1 << 20
	mostPacket  = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockRange is the part of a block that is still to come.
type blockRange struct {
	id       uint64
	at, left int64
}

// fields calls visit with the number and the value of each field of a message. A
// value is a uint64, or the bytes of one that has a length.
func fields(p []byte, visit func(number protowire.Number, v uint64, b []byte)) error {
	for len(p) > 0 {
		number, kind, n := protowire.ConsumeTag(p)
		if n < 0 {
			return errMalformed
		}
		p = p[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(p)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(p)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(p)
			v = uint64(w)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(p)
		default:
			return errMalformed
		}
		if n < 0 {
			return errMalformed
		}
		p = p[n:]
		visit(number, v, b)
	}
	return nil
}

// inside returns the bytes of a field within the message p, found by the path of
// numbers that leads to it. What is not there is empty.
func inside(p []byte, path ...protowire.Number) ([]byte, error) {
	for _, want := range path {
		var found []byte
		err := fields(p, func(number protowire.Number, _ uint64, b []byte) {
			if number == want {
				found = b
			}
		})
		if err != nil {
			return nil, err
		}
		p = found
	}
	return p, nil
}

// parseReadRequest reads an OpReadBlockProto, behind its length.
func parseReadRequest(p []byte) (r blockRange, err error) {
	body, n := protowire.ConsumeBytes(p)
	if n < 0 {
		return r, errMalformed
	}
	// header (1) . base header (1) . block (1) . block id (2)
	block, err := inside(body, 1, 1, 1)
	if err != nil {
		return r, err
	}
	err = fields(block, func(number protowire.Number, v uint64, _ []byte) {
		if number == 2 {
			r.id = v
		}
	})
	if err != nil {
		return r, err
	}
	return r, fields(body, func(number protowire.Number, v uint64, _ []byte) {
		switch number {
		case 2:
			r.at = int64(v)
		case 3:
			r.left = int64(v)
		}
	})
}

// message is a protobuf message with the length before it.
type message struct{ all, body []byte }

func readMessage(in *bufio.Reader) (m message, err error) {
	var length uint64
	for shift := 0; ; shift += 7 {
		b, err := in.ReadByte()
		if err != nil {
			return m, unexpected(err)
		}
		m.all = append(m.all, b)
		length |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
		if shift > 21 {
			return m, errMalformed
		}
	}
	if length > mostMessage {
		return m, errMalformed
	}
	n := len(m.all)
	m.all = append(m.all, make([]byte, length)...)
	m.body = m.all[n:]
	_, err = io.ReadFull(in, m.body)
	return m, unexpected(err)
}

// readAnswer is what a DataNode says to a request to read: a BlockOpResponseProto
// with a ReadOpChecksumInfoProto.
type readAnswer struct {
	granted  bool
	sumType  uint64
	sumChunk uint64
	start    int64 // in the block, where its packets begin
}

func parseAnswer(p []byte) (a readAnswer, err error) {
	a.granted = true
	var info, sum []byte
	err = fields(p, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 1:
			a.granted = v == 0
		case 4:
			info = b
		}
	})
	if err != nil {
		return a, err
	}
	err = fields(info, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 1:
			sum = b
		case 2:
			a.start = int64(v)
		}
	})
	if err != nil {
		return a, err
	}
	return a, fields(sum, func(number protowire.Number, v uint64, _ []byte) {
		switch number {
		case 1:
			a.sumType = v
		case 2:
			a.sumChunk = v
		}
	})
}

// checksums is how the data of a block is protected.
type checksums struct {
	table *crc32.Table
	chunk int // bytes that have a checksum together
}

const sumSize = 4

// checksums returns what to check by. A block without checksums is refused: nobody
// could tell whether it is what was written.
func (a readAnswer) checksums() (checksums, error) {
	if a.sumChunk == 0 || a.sumChunk > mostPacket {
		return checksums{}, errMalformed
	}
	switch a.sumType {
	case 1:
		return checksums{crc32.IEEETable, int(a.sumChunk)}, nil
	case 2:
		return checksums{castagnoli, int(a.sumChunk)}, nil
	}
	return checksums{}, fmt.Errorf("the block has no checksums that can be verified (type %d): it was written with dfs.checksum.type NULL", a.sumType)
}

// verify returns the offset in data of the first chunk that does not have its sum,
// -1 if all do.
func (c checksums) verify(sums, data []byte) int {
	for at := 0; at < len(data); at += c.chunk {
		chunk := data[at:min(at+c.chunk, len(data))]
		if crc32.Checksum(chunk, c.table) != binary.BigEndian.Uint32(sums) {
			return at
		}
		sums = sums[sumSize:]
	}
	return -1
}

// packetStart is the number of bytes of a packet that tell how long it is.
const packetStart = 6

// packetLength returns the length of the packet that begins with p, and of its header.
func packetLength(p []byte) (whole, head int, err error) {
	// The first length counts itself and what follows the header.
	payload := int64(binary.BigEndian.Uint32(p)) - 4
	if payload < 0 || payload > mostPacket {
		return 0, 0, errMalformed
	}
	head = packetStart + int(binary.BigEndian.Uint16(p[4:]))
	return head + int(payload), head, nil
}

// parsePacket takes a packet apart: checksums, then the data that they are of.
func parsePacket(p []byte) (sums, data []byte, err error) {
	if len(p) < packetStart {
		return nil, nil, errMalformed
	}
	whole, head, err := packetLength(p)
	if err != nil || whole != len(p) || head > whole {
		return nil, nil, errMalformed
	}
	n := 0
	err = fields(p[packetStart:head], func(number protowire.Number, v uint64, _ []byte) {
		if number == 4 {
			n = int(int32(v))
		}
	})
	if err != nil || n < 0 || n > whole-head {
		return nil, nil, errMalformed
	}
	return p[head : whole-n], p[whole-n:], nil
}

// count is the number of checksums of n bytes.
func (c checksums) count(n int) int { return (n + c.chunk - 1) / c.chunk }
