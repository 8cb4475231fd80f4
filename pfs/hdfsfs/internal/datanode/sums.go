package datanode

import (
	"crypto/md5"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Chunk is the number of bytes of each checksum in blocks that are written.
const Chunk = 512

// Sums are the checksums of bytes that are written, chunk by chunk.
type Sums struct {
	Whole []uint32 // of the chunks that have ended
	tail  uint32   // of the last chunk
	at    int      // in the last chunk
}

// Add adds the bytes of p.
func (s *Sums) Add(p []byte) {
	for len(p) > 0 {
		n := min(len(p), Chunk-s.at)
		s.tail = crc32.Update(s.tail, castagnoli, p[:n])
		p = p[n:]
		if s.at += n; s.at == Chunk {
			s.Whole = append(s.Whole, s.tail)
			s.tail, s.at = 0, 0
		}
	}
}

// All returns all checksums, including that of the last chunk.
func (s *Sums) All() []uint32 { return s.From(0) }

// From returns the checksums from number i on.
func (s *Sums) From(i int) []uint32 {
	if s.at == 0 {
		return s.Whole[i:]
	}
	return append(slices.Clip(s.Whole[i:]), s.tail)
}

// Hash returns the checksum of the block, from those of its chunks.
func (b *Block) Hash(sums []uint32) [md5.Size]byte { return hashSums(sums) }

// hashSums returns the MD5 of checksums.
func hashSums(sums []uint32) [md5.Size]byte {
	h := md5.New()
	raw := make([]byte, 0, 4096)
	for part := range slices.Chunk(sums, cap(raw)/sumSize) {
		raw = raw[:0]
		for _, s := range part {
			raw = binary.BigEndian.AppendUint32(raw, s)
		}
		h.Write(raw)
	}
	return [md5.Size]byte(h.Sum(nil))
}
