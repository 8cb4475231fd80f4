package convert

import (
	"bytes"
	"encoding/binary"
)

// The JPEG markers used here.
const (
	jpegSOS = 0xda
	jpegEOI = 0xd9
	jpegTEM = 0x01
)

// checkJPEG follows the segments of a JPEG to the frame header and the first scan, and looks for
// the end marker.
func checkJPEG(data []byte) (imageSize, error) {
	var size imageSize
	for rest := data[2:]; ; {
		marker, body, after, err := jpegSegment(rest)
		if err != nil {
			return imageSize{}, err
		}
		switch {
		case isJPEGFrame(marker):
			if size, err = jpegFrame(body); err != nil {
				return imageSize{}, err
			}
		case marker == jpegEOI:
			return imageSize{}, faultf(ErrSyntax, "jpeg: ends without a scan")
		case marker == jpegSOS:
			return size, jpegScan(size, after)
		}
		rest = after
	}
}

// jpegSegment splits the first segment off data.
func jpegSegment(data []byte) (marker byte, body, rest []byte, err error) {
	if len(data) >= 1 && data[0] != 0xff {
		return 0, nil, nil, faultf(ErrSyntax, "jpeg: byte %#02x where a marker should be", data[0])
	}
	for len(data) > 0 && data[0] == 0xff { // fill bytes may precede a marker
		data = data[1:]
	}
	if len(data) == 0 {
		return 0, nil, nil, faultf(ErrTruncated, "jpeg: ends before its first scan")
	}
	marker = data[0]
	if marker == jpegTEM || marker == jpegEOI || marker >= 0xd0 && marker <= 0xd7 {
		return marker, nil, data[1:], nil
	}
	if len(data) < 3 || len(data)-1 < int(binary.BigEndian.Uint16(data[1:])) {
		return 0, nil, nil, faultf(ErrTruncated, "jpeg: ends in the middle of segment %#02x", marker)
	}
	n := int(binary.BigEndian.Uint16(data[1:]))
	if n < 2 {
		return 0, nil, nil, faultf(ErrSyntax, "jpeg: segment %#02x of length %d", marker, n)
	}
	return marker, data[3 : 1+n], data[1+n:], nil
}

// isJPEGFrame reports whether marker is one of SOF0 to SOF15, except the three of that range with
// another meaning.
func isJPEGFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

// jpegFrame reads a frame header: precision, lines, samples a line, components.
func jpegFrame(body []byte) (imageSize, error) {
	if len(body) < 6 || len(body) != 6+3*int(body[5]) || body[5] == 0 {
		return imageSize{}, faultf(ErrSyntax, "jpeg: invalid frame header of %d bytes", len(body))
	}
	return imageSize{
		width:  int64(binary.BigEndian.Uint16(body[3:])),
		height: int64(binary.BigEndian.Uint16(body[1:])),
	}, nil
}

// jpegScan checks the data after the header of the first scan.
func jpegScan(size imageSize, after []byte) error {
	if size == (imageSize{}) {
		return faultf(ErrSyntax, "jpeg: a scan before the frame header")
	}
	if bytes.LastIndex(after, []byte{0xff, jpegEOI}) < 0 {
		return faultf(ErrTruncated, "jpeg: ends without an end marker")
	}
	return nil
}
