package hdfsfs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumSize = 4

// checksums is how the data of a block is protected.
type checksums struct {
	table *crc32.Table
	chunk int // bytes that have a checksum together
}

// checksums returns what to check by. A block without checksums is refused: its
// bytes could not be verified.
func (a readAnswer) checksums() (checksums, error) {
	if a.sumChunk == 0 || a.sumChunk > maxPacket {
		return checksums{}, errMalformed
	}
	switch a.sumType {
	case 1:
		return checksums{crc32.IEEETable, int(a.sumChunk)}, nil
	case 2:
		return checksums{castagnoli, int(a.sumChunk)}, nil
	}
	return checksums{}, fmt.Errorf("the block has no checksums that can be verified (type %d): it was written with dfs.checksum.type NULL", a.sumType)
}

// verify returns the offset in data of the first chunk that does not have its sum,
// -1 if all do.
func (c checksums) verify(sums, data []byte) int {
	for at := 0; at < len(data); at += c.chunk {
		chunk := data[at:min(at+c.chunk, len(data))]
		if crc32.Checksum(chunk, c.table) != binary.BigEndian.Uint32(sums) {
			return at
		}
		sums = sums[sumSize:]
	}
	return -1
}

// count is the number of checksums of n bytes.
func (c checksums) count(n int) int { return (n + c.chunk - 1) / c.chunk }
