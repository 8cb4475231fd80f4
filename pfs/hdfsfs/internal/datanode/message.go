package datanode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"
)

// errMalformed means that a DataNode violates the protocol.
var errMalformed = errors.New("the DataNode violates the data transfer protocol")

// maxMessage bounds the bytes of a message.
const maxMessage = 1 << 20

// appendMessage appends m with its length as a varint.
func appendMessage(p []byte, m proto.Message) ([]byte, error) {
	p = binary.AppendUvarint(p, uint64(proto.Size(m)))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(p, m)
}

// readMessage receives a message that appendMessage wrote.
func readMessage(in *bufio.Reader, m proto.Message) error {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return unexpected(err)
	}
	if n > maxMessage {
		return errMalformed
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(in, p); err != nil {
		return unexpected(err)
	}
	if proto.Unmarshal(p, m) != nil {
		return errMalformed
	}
	return nil
}

// unexpected turns an end in the middle of a message into an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
