package convert

import (
	"encoding/binary"
	"hash/crc32"
)

const pngMark = "\x89PNG\r\n\x1a\n"

// checkPNG follows the chunks of a PNG from IHDR to IEND, and verifies the checksums of critical
// chunks.
func checkPNG(data []byte) (imageSize, error) {
	rest := data[len(pngMark):]
	name, body, rest, err := pngChunk(rest)
	if err != nil {
		return imageSize{}, err
	}
	if name != "IHDR" || len(body) != 13 {
		return imageSize{}, faultf(ErrSyntax, "png: the first chunk is %q of %d bytes, not IHDR of 13", name, len(body))
	}
	size := imageSize{int64(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint32(body[4:]))}
	if depth, color := body[8], body[9]; !pngColor(depth, color) || body[10] != 0 || body[11] != 0 || body[12] > 1 {
		return imageSize{}, faultf(ErrSyntax, "png: invalid IHDR: bit depth %d, colour type %d, methods %d, %d, %d",
			depth, color, body[10], body[11], body[12])
	}
	for pixels := false; ; {
		if name, _, rest, err = pngChunk(rest); err != nil {
			return imageSize{}, err
		}
		if name == "IEND" {
			if !pixels {
				return imageSize{}, faultf(ErrSyntax, "png: no IDAT chunk")
			}
			return size, nil
		}
		pixels = pixels || name == "IDAT"
	}
}

// pngChunk splits the first chunk off data. It ignores the checksums of ancillary chunks, whose
// names begin in lower case.
func pngChunk(data []byte) (name string, body, rest []byte, err error) {
	if len(data) < 12 {
		return "", nil, nil, faultf(ErrTruncated, "png: ends without an IEND chunk")
	}
	n := binary.BigEndian.Uint32(data)
	name = string(data[4:8])
	if int64(n) > int64(len(data)-12) {
		return "", nil, nil, faultf(ErrTruncated, "png: chunk %q of %d bytes, and only %d are left", name, n, len(data)-12)
	}
	end := 8 + int(n)
	if name[0]&0x20 == 0 && crc32.ChecksumIEEE(data[4:end]) != binary.BigEndian.Uint32(data[end:]) {
		return "", nil, nil, faultf(ErrChecksum, "png: chunk %q does not match its checksum", name)
	}
	return name, data[8:end], data[end+4:], nil
}

// pngColor reports whether the standard allows that bit depth with that colour type.
func pngColor(depth, color byte) bool {
	switch color {
	case 0:
		return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16
	case 3:
		return depth == 1 || depth == 2 || depth == 4 || depth == 8
	case 2, 4, 6:
		return depth == 8 || depth == 16
	}
	return false
}
