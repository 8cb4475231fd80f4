package datanode

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// A packet is its length (4 bytes, which counts itself, the checksums and the data), the length of its header (2 bytes), the
// header, the checksums, and the data.

// maxPacket bounds the bytes of a packet, as Hadoop does.
const maxPacket = 16 << 20

// lengths is the number of bytes of the two lengths.
const lengths = 6

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumSize is the length of a checksum in bytes.
const sumSize = 4

// checksums describes the checksums of a block.
type checksums struct {
	table *crc32.Table
	chunk int // bytes per checksum
}

// newChecksums returns the checksums that c describes. Data without checksums is refused: it cannot be verified.
func newChecksums(c *hdfsproto.Checksum) (checksums, error) {
	chunk := c.GetBytesPerChecksum()
	if chunk == 0 || chunk > maxPacket {
		return checksums{}, errMalformed
	}
	switch c.GetType() {
	case hdfsproto.ChecksumType_CHECKSUM_CRC32:
		return checksums{crc32.IEEETable, int(chunk)}, nil
	case hdfsproto.ChecksumType_CHECKSUM_CRC32C:
		return checksums{castagnoli, int(chunk)}, nil
	}
	return checksums{}, fmt.Errorf("the block has no checksums that can be verified (type %d): it was written with dfs.checksum.type NULL", c.GetType())
}

// verify returns the offset in data of the first chunk that does not match its checksum, -1 if all do.
func (c checksums) verify(sums, data []byte) int {
	for at := 0; at < len(data); at += c.chunk {
		if crc32.Checksum(data[at:min(at+c.chunk, len(data))], c.table) != binary.BigEndian.Uint32(sums) {
			return at
		}
		sums = sums[sumSize:]
	}
	return -1
}

// size is the length in bytes of the checksums of n bytes.
func (c checksums) size(n int) int { return (n + c.chunk - 1) / c.chunk * sumSize }

// packetHead receives the lengths and the header of a packet, and returns the length of its data. The checksums and the
// data are still to come.
func (s *Stream) packetHead() (n int, err error) {
	start, err := s.conn.in.Peek(lengths)
	if err != nil {
		return 0, unexpected(err)
	}
	payload := int64(binary.BigEndian.Uint32(start)) - 4
	head := int(binary.BigEndian.Uint16(start[4:]))
	if payload < 0 || payload > maxPacket || lengths+head > received {
		return 0, errMalformed
	}
	whole, err := s.conn.in.Peek(lengths + head)
	if err != nil {
		return 0, unexpected(err)
	}
	h := &s.header
	if proto.Unmarshal(whole[lengths:], h) != nil {
		return 0, errMalformed
	}
	_, _ = s.conn.in.Discard(len(whole)) // they are in the buffer
	n = int(h.GetLength())
	if n < 0 || h.GetOffset() != s.received || int64(s.sums.size(n)+n) != payload {
		return 0, errMalformed
	}
	return n, nil
}

// packetData receives the checksums and the data of a packet into data, and verifies them.
func (s *Stream) packetData(data []byte) error {
	n := s.sums.size(len(data))
	if cap(s.sumBuf) < n {
		s.sumBuf = make([]byte, n)
	}
	sums := s.sumBuf[:n]
	if _, err := io.ReadFull(s.conn.in, sums); err != nil {
		return unexpected(err)
	}
	if _, err := io.ReadFull(s.conn.in, data); err != nil {
		return unexpected(err)
	}
	if at := s.sums.verify(sums, data); at >= 0 {
		return &DamagedError{Offset: s.received + int64(at)}
	}
	s.received += int64(len(data))
	return nil
}
