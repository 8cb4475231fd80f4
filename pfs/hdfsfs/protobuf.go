package hdfsfs

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

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

// inside returns the bytes of a field of the message p, found by the path of field numbers. The
// result is empty if the field is missing.
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

// message is a protobuf message with the length before it.
type message struct{ all, body []byte }

// readMessage reads a message whose length stands before it as a varint.
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
	if length > maxMessage {
		return m, errMalformed
	}
	n := len(m.all)
	m.all = append(m.all, make([]byte, length)...)
	m.body = m.all[n:]
	_, err = io.ReadFull(in, m.body)
	return m, unexpected(err)
}
