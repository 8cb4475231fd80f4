package hdfsfs

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// blockRange is the part of a block that is still to come.
type blockRange struct {
	id       uint64
	at, left int64
}

// parseReadRequest parses an OpReadBlockProto, preceded by its length.
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

// readAnswer is the response of a DataNode to a read request: a BlockOpResponseProto with a
// ReadOpChecksumInfoProto.
type readAnswer struct {
	granted  bool
	sumType  uint64
	sumChunk uint64
	start    int64 // in the block, where its packets begin
}

// parseAnswer reads a BlockOpResponseProto: status (1), readOpChecksumInfo (4). In that are checksum
// (1) and chunkOffset (2); in that, type (1) and bytesPerChecksum (2).
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
