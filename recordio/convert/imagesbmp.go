package convert

import "encoding/binary"

// bmpHeaders are the lengths of the headers that follow the 14 bytes of a BMP file.
var bmpHeaders = map[uint32]bool{12: true, 40: true, 52: true, 56: true, 64: true, 108: true, 124: true}

// isBMP checks more than the first two letters, with which any text may begin.
func isBMP(b []byte) bool {
	return len(b) >= 26 && b[0] == 'B' && b[1] == 'M' && bmpHeaders[binary.LittleEndian.Uint32(b[14:])]
}

// checkBMP checks the headers of a BMP, and that uncompressed pixels are complete.
func checkBMP(data []byte) (imageSize, error) {
	head := binary.LittleEndian.Uint32(data[14:])
	if len(data) < 14+int(head) {
		return imageSize{}, faultf(ErrTruncated, "bmp: ends in the middle of its header")
	}
	size, bits, compression := bmpSize(data, head)
	if bits == 0 && compression < 4 || bits > 32 {
		return imageSize{}, faultf(ErrSyntax, "bmp: %d bits a pixel", bits)
	}
	start := int64(binary.LittleEndian.Uint32(data[10:]))
	if start < 14+int64(head) || start > int64(len(data)) {
		return imageSize{}, faultf(ErrSyntax, "bmp: pixels at offset %d of %d bytes", start, len(data))
	}
	if compression != 0 && compression != 3 || size.width <= 0 || size.height <= 0 || size.width > maxPixels {
		return size, nil
	}
	line := (size.width*bits + 31) / 32 * 4
	if left := int64(len(data)) - start; size.height > left/line {
		return imageSize{}, faultf(ErrTruncated, "bmp: %d lines of %d bytes, and only %d bytes of pixels", size.height, line, left)
	}
	return size, nil
}

// bmpSize reads size, bits per pixel and compression from a header of head bytes. A negative height
// means that the top line comes first.
func bmpSize(data []byte, head uint32) (size imageSize, bits int64, compression uint32) {
	le := binary.LittleEndian
	if head == 12 {
		return imageSize{int64(le.Uint16(data[18:])), int64(le.Uint16(data[20:]))}, int64(le.Uint16(data[24:])), 0
	}
	size = imageSize{int64(int32(le.Uint32(data[18:]))), int64(int32(le.Uint32(data[22:])))}
	if size.height < 0 {
		size.height = -size.height
	}
	return size, int64(le.Uint16(data[28:])), le.Uint32(data[30:])
}
