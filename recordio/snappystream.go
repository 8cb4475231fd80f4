package recordio

import (
	"bytes"
	"encoding/binary"

	"github.com/golang/snappy"
)

// The snappy payload of dialect Fluid is that of the snappystream library: an identifier, then
// blocks. A block is a flag, a 16-bit big-endian length, the big-endian masked CRC-32C of the data,
// and the data, compressed if the flag is 1.
const streamBlockHead = 7

var streamMagic = []byte("snappy\x00")

// nextStreamBlock reads the block at the start of p. An identifier counts as a block without data.
func nextStreamBlock(p []byte) (frame, *Error) {
	if bytes.HasPrefix(p, streamMagic) {
		return frame{kind: frameStreamID, size: len(streamMagic)}, nil
	}
	if len(p) < streamBlockHead {
		return frame{}, fault(Malformed, "the snappystream payload ends inside a block")
	}
	size := streamBlockHead + int(binary.BigEndian.Uint16(p[1:]))
	if p[0] > 1 || size > len(p) {
		return frame{}, fault(Malformed, "snappystream block with flag %#x and %d bytes of %d", p[0], size, len(p))
	}
	f := frame{kind: frameStored - p[0], sum: binary.BigEndian.Uint32(p[3:]), body: p[streamBlockHead:size], size: size}
	return f, f.measure()
}

// decodeStream appends the data of the blocks of p to dst.
func decodeStream(dst, p []byte, limit int64, verify bool) ([]byte, *Error) {
	for len(p) > 0 {
		f, err := nextStreamBlock(p)
		if err != nil {
			return dst, err
		}
		if int64(len(dst)+f.raw) > limit {
			return dst, tooLarge(limit)
		}
		if f.data() {
			at := len(dst)
			dst = append(dst, make([]byte, f.raw)...)
			if err := f.decode(dst[at:], verify); err != nil {
				return dst, err
			}
		}
		p = p[f.size:]
	}
	return dst, nil
}

// decodeBlock appends the data of p, a single snappy block as in dialect Pyrecordio.
func decodeBlock(dst, p []byte, limit int64) ([]byte, *Error) {
	n, err := snappy.DecodedLen(p)
	if err != nil {
		return dst, fault(Malformed, "snappy block: %w", err)
	}
	// A block expands every 2 bytes to at most 64.
	if int64(n) > limit || n > 64*len(p) {
		return dst, tooLarge(min(limit, 64*int64(len(p))))
	}
	at := len(dst)
	dst = extend(dst, n)
	if _, err := snappy.Decode(dst[at:], p); err != nil {
		return dst[:at], fault(Malformed, "snappy block: %w", err)
	}
	return dst, nil
}
