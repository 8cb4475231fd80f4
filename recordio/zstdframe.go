package recordio

import (
	"github.com/klauspost/compress/zstd"
)

// A Zstd payload is a sequence of frames of blockRaw bytes of data. Each states its size and has a
// checksum, so it can be found and decoded alone.
const (
	zstdMaxWindow = 8 << 20
	zstdBlockHead = 3
	zstdMaxBlock  = 128 << 10 // of data
	zstdRLE       = 1         // type of a block of one repeated byte
)

// nextZstdFrame measures the frame at the start of p. Frames without a stated size are not ours.
func nextZstdFrame(p []byte) (block, *Error) {
	var h zstd.Header
	if err := h.Decode(p); err != nil {
		return block{}, fault(Malformed, "zstd: %w", err)
	}
	if h.Skippable || !h.HasFCS || h.FrameContentSize > 1<<31 {
		return block{}, fault(Unsupported, "zstd frame that does not state its size")
	}
	size, most := h.HeaderSize, uint64(0)
	for last := false; !last; most += zstdMaxBlock {
		if size+zstdBlockHead > len(p) {
			return block{}, fault(Malformed, "the zstd payload ends inside a frame")
		}
		word := int(p[size]) | int(p[size+1])<<8 | int(p[size+2])<<16
		last = word&1 == 1
		if kind := word >> 1 & 3; kind == zstdRLE {
			size += zstdBlockHead + 1
		} else {
			size += zstdBlockHead + word>>3
		}
	}
	if h.HasCheckSum {
		size += 4
	}
	if size > len(p) {
		return block{}, fault(Malformed, "the zstd payload ends inside a frame")
	}
	if h.FrameContentSize > most {
		return block{}, fault(Malformed, "a zstd frame that can hold %d bytes says %d", most, h.FrameContentSize)
	}
	return block{stored: uint32(size), raw: uint32(h.FrameContentSize)}, nil
}

// zstdRaw returns the size of the data that the frames of p state.
func zstdRaw(p []byte, limit int64) (int, *Error) {
	total := int64(0)
	for len(p) > 0 {
		b, flt := nextZstdFrame(p)
		if flt != nil {
			return 0, flt
		}
		if total += int64(b.raw); total > limit {
			return 0, tooLarge(limit)
		}
		p = p[b.stored:]
	}
	return int(total), nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
