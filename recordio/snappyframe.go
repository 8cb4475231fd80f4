package recordio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/golang/snappy"
)

// Snappy's framing format: each frame has a type, a length of 24 bits and a body. The body of a
// data frame begins with the masked CRC-32C of the uncompressed data.
const (
	frameRaw        = 64 << 10 // maximum data in a frame
	frameCompressed = 0x00
	frameStored     = 0x01
	frameSkippable  = 0x80 // 0x80 and above
	frameStreamID   = 0xff
	frameHead       = 8 // type, length, checksum
)

// streamID is the first frame of every payload.
var streamID = []byte("\xff\x06\x00\x00sNaPpY")

// maxEncoded is the maximum size of a frame's compressed data, which is also the space that the
// encoder needs.
var maxEncoded = snappy.MaxEncodedLen(frameRaw)

// maxFrameBody adds the checksum.
var maxFrameBody = crc32.Size + maxEncoded

// maskedCRC is the checksum of both snappy framing formats.
func maskedCRC(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendFrames appends raw as frames, byte for byte like golang/snappy's buffered writer.
func appendFrames(dst, raw []byte) []byte {
	for len(raw) > 0 {
		piece := raw[:min(len(raw), frameRaw)]
		raw = raw[len(piece):]
		dst = reserve(dst, frameHead+maxEncoded)
		head, room := dst[len(dst):len(dst)+frameHead], dst[len(dst)+frameHead:cap(dst)]
		head[0] = frameCompressed
		body := snappy.Encode(room, piece)
		if len(body) >= len(piece)-len(piece)/8 {
			head[0] = frameStored
			body = room[:copy(room, piece)]
		}
		size := len(body) + crc32.Size
		head[1], head[2], head[3] = byte(size), byte(size>>8), byte(size>>16)
		binary.LittleEndian.PutUint32(head[4:], maskedCRC(piece))
		dst = dst[:len(dst)+frameHead+len(body)]
	}
	return dst
}

// frame is one frame of a payload.
type frame struct {
	kind byte
	sum  uint32 // only data frames
	body []byte // without the checksum
	raw  int    // bytes of data
	size int    // stored size, with its header
}

func (f frame) data() bool { return f.kind <= frameStored }

// nextFrame reads the frame at the start of p.
func nextFrame(p []byte) (frame, *Error) {
	if len(p) < 4 {
		return frame{}, fault(Malformed, "the snappy payload ends inside a frame")
	}
	f := frame{kind: p[0], size: 4 + int(p[1]) + int(p[2])<<8 + int(p[3])<<16}
	if f.size > len(p) {
		return frame{}, fault(Malformed, "the snappy payload ends inside a frame")
	}
	if f.kind >= frameSkippable {
		if f.kind == frameStreamID && !bytes.HasPrefix(p, streamID) {
			return frame{}, fault(Malformed, "not a snappy stream identifier")
		}
		return f, nil
	}
	if f.kind > frameStored || f.size < frameHead || f.size > 4+maxFrameBody {
		return frame{}, fault(Malformed, "snappy frame of type %#x and %d bytes", f.kind, f.size)
	}
	f.sum, f.body = binary.LittleEndian.Uint32(p[4:]), p[frameHead:f.size]
	return f, f.measure()
}

// measure determines the size of f's data.
func (f *frame) measure() *Error {
	f.raw = len(f.body)
	if f.kind == frameCompressed {
		n, err := snappy.DecodedLen(f.body)
		if err != nil {
			return fault(Malformed, "snappy frame: %w", err)
		}
		f.raw = n
	}
	if f.raw > frameRaw {
		return fault(Malformed, "snappy frame of %d bytes of data", f.raw)
	}
	return nil
}

// decode puts f's data into dst, which has f.raw bytes.
func (f frame) decode(dst []byte, verify bool) *Error {
	if f.kind == frameStored {
		copy(dst, f.body)
	} else if _, err := snappy.Decode(dst, f.body); err != nil {
		return fault(Malformed, "snappy frame: %w", err)
	}
	if verify && maskedCRC(dst) != f.sum {
		return fault(Checksum, "snappy frame")
	}
	return nil
}

// framesRaw returns the bytes of data in the frames of p.
func framesRaw(p []byte, limit int64) (int, *Error) {
	total := 0
	for len(p) > 0 {
		f, err := nextFrame(p)
		if err != nil {
			return 0, err
		}
		if total += f.raw; int64(total) > limit {
			return 0, tooLarge(limit)
		}
		p = p[f.size:]
	}
	return total, nil
}

// decodeFrames appends the data of the frames of p to dst.
func decodeFrames(dst, p []byte, limit int64, verify bool) ([]byte, *Error) {
	total, err := framesRaw(p, limit)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = extend(dst, total)
	for len(p) > 0 {
		f, _ := nextFrame(p) // framesRaw has checked it
		if f.data() {
			if err := f.decode(dst[at:at+f.raw], verify); err != nil {
				return dst[:at], err
			}
			at += f.raw
		}
		p = p[f.size:]
	}
	return dst, nil
}

// extend makes dst n bytes longer. If it needs an array, it takes a pooled one or allocates exactly
// that size.
func extend(dst []byte, n int) []byte {
	if need := len(dst) + n; need > cap(dst) {
		dst = enlarge(dst, need)
	}
	return dst[:len(dst)+n]
}

func tooLarge(limit int64) *Error {
	return fault(Limit, "more than %d bytes after decompression", limit)
}
