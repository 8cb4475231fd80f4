package convert

import "encoding/binary"

// checkWebP follows the chunks of a WebP file to the first one with pixels.
func checkWebP(data []byte) (imageSize, error) {
	n := int64(binary.LittleEndian.Uint32(data[4:]))
	if n > int64(len(data)-8) {
		return imageSize{}, faultf(ErrTruncated, "webp: %d bytes by its header, and only %d are left", n, len(data)-8)
	}
	if n < 4 {
		return imageSize{}, faultf(ErrSyntax, "webp: %d bytes by its header", n)
	}
	var canvas imageSize
	for rest := data[12 : 8+n]; ; {
		name, body, after, err := webpChunk(rest)
		if err != nil {
			return imageSize{}, err
		}
		switch name {
		case "VP8 ":
			return canvas.over(vp8Size(body))
		case "VP8L":
			return canvas.over(vp8lSize(body))
		case "ANMF":
			if canvas == (imageSize{}) {
				return canvas, faultf(ErrSyntax, "webp: a frame of an animation without a canvas")
			}
			return canvas, nil
		case "VP8X":
			if canvas, err = vp8xSize(body); err != nil {
				return imageSize{}, err
			}
		}
		rest = after
	}
}

// over returns the canvas of an extended file, or the frame of a simple one.
func (canvas imageSize) over(frame imageSize, err error) (imageSize, error) {
	if err != nil || canvas == (imageSize{}) {
		return frame, err
	}
	return canvas, nil
}

// webpChunk splits the first chunk off data. Chunks are padded to even lengths.
func webpChunk(data []byte) (name string, body, rest []byte, err error) {
	if len(data) < 8 {
		return "", nil, nil, faultf(ErrSyntax, "webp: no chunk with pixels")
	}
	name, n := string(data[:4]), int64(binary.LittleEndian.Uint32(data[4:]))
	if n > int64(len(data)-8) {
		return "", nil, nil, faultf(ErrTruncated, "webp: chunk %q of %d bytes, and only %d are left", name, n, len(data)-8)
	}
	end := 8 + int(n)
	return name, data[8:end], data[min(end+end%2, len(data)):], nil
}

// vp8Size reads the header of a lossy key frame.
func vp8Size(b []byte) (imageSize, error) {
	if len(b) < 10 || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		return imageSize{}, faultf(ErrSyntax, "webp: VP8 chunk without a key frame")
	}
	le := binary.LittleEndian
	return imageSize{int64(le.Uint16(b[6:]) & 0x3fff), int64(le.Uint16(b[8:]) & 0x3fff)}, nil
}

// vp8lSize reads the header of a lossless frame.
func vp8lSize(b []byte) (imageSize, error) {
	if len(b) < 5 || b[0] != 0x2f {
		return imageSize{}, faultf(ErrSyntax, "webp: VP8L chunk without its signature")
	}
	bits := binary.LittleEndian.Uint32(b[1:])
	return imageSize{int64(bits&0x3fff) + 1, int64(bits>>14&0x3fff) + 1}, nil
}

// vp8xSize reads the canvas of an extended file.
func vp8xSize(b []byte) (imageSize, error) {
	if len(b) != 10 {
		return imageSize{}, faultf(ErrSyntax, "webp: VP8X chunk of %d bytes, not 10", len(b))
	}
	u24 := func(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
	return imageSize{u24(b[4:]) + 1, u24(b[7:]) + 1}, nil
}
