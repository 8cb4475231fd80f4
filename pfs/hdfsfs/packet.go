package hdfsfs

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed means that a DataNode or the library violates the data transfer protocol.
var errMalformed = errors.New("the data transfer protocol is violated")

const (
	// maxMessage and maxPacket bound the bytes that are read into memory because of a length in a
	// message. Hadoop itself allows packets of 16 MiB.
	maxMessage = 1 << 20
	maxPacket  = 16 << 20
)

// packetStart is the number of bytes of a packet that tell how long it is.
const packetStart = 6

// packetLength returns the length of the packet that begins with p, and of its header.
func packetLength(p []byte) (whole, head int, err error) {
	// The first length includes itself and everything after the header.
	payload := int64(binary.BigEndian.Uint32(p)) - 4
	if payload < 0 || payload > maxPacket {
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
