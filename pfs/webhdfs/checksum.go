package webhdfs

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
)

// storeChecksum is the algorithm of HDFS as a store offers it (pfs.CanStoreChecksum): the text behind ":" is its hex.
const storeChecksum = "md5-of-md5-of-crc32c"

// getFileChecksum carries out GETFILECHECKSUM with the checksum that the store has, or one of the same form over the
// bytes: the MD5 over the blocks of the MD5s of the CRC-32C of their chunks.
func getFileChecksum(c *call) (answer, error) {
	ctx := c.r.Context()
	var f pfs.File
	var sum []byte
	err := c.session.Do(ctx, "getfilechecksum", func(ctx context.Context) (err error) {
		if sum, err = c.storedChecksum(ctx); err == nil && sum == nil {
			f, err = c.fs().Open(ctx, c.path)
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	if f != nil {
		defer f.Close()
		if sum, err = c.computeChecksum(f); err != nil {
			return answer{}, err
		}
	}
	return checksumAnswer(sum), nil
}

// storedChecksum asks the store; nil means that it has none.
func (c *call) storedChecksum(ctx context.Context) ([]byte, error) {
	can, err := pfs.CapabilitiesOf(ctx, c.fs(), c.path.Parent())
	d, ok := c.fs().(pfs.Digester)
	if err != nil || !ok || !can.Has(pfs.CanStoreChecksum) {
		return nil, err
	}
	text, err := d.Digest(ctx, c.path, storeChecksum, nil)
	if isKind(err, pfs.Unsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.TrimPrefix(text, storeChecksum+":"))
}

// computeChecksum reads the file.
func (c *call) computeChecksum(f pfs.File) ([]byte, error) {
	s := newChecksum(f.Info().Size, blockSizeOf(f.Info()))
	buf := make([]byte, gateway.Step)
	for off := int64(0); off < s.size; {
		n := int(min(int64(len(buf)), s.size-off))
		if err := pfs.ReadFull(c.r.Context(), turned{f, c.session}, buf[:n], off); err != nil {
			return nil, err
		}
		s.add(buf[:n])
		off += int64(n)
	}
	return s.sum(), nil
}

// checksum computes MD5MD5CRC32FileChecksum of Hadoop.
type checksum struct {
	size, block int64
	chunk       []byte    // the CRC of the chunk that is not complete, and how much it covers
	crc         uint32    // of the chunk
	inChunk     int       // bytes in crc
	inBlock     int64     // bytes in md5
	md5         hash.Hash // of the CRCs of the block
	blocks      []byte    // the MD5 of each block
}

func newChecksum(size, block int64) *checksum {
	return &checksum{size: size, block: block, md5: md5.New()}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *checksum) add(p []byte) {
	for len(p) > 0 {
		n := int(min(int64(len(p)), int64(bytesPerSum-s.inChunk), s.block-s.inBlock))
		s.crc = crc32.Update(s.crc, castagnoli, p[:n])
		s.inChunk, s.inBlock, p = s.inChunk+n, s.inBlock+int64(n), p[n:]
		if s.inChunk == bytesPerSum || s.inBlock == s.block {
			s.endChunk()
		}
		if s.inBlock == s.block {
			s.endBlock()
		}
	}
}

func (s *checksum) endChunk() {
	if s.inChunk > 0 {
		s.md5.Write(binary.BigEndian.AppendUint32(s.chunk[:0], s.crc))
		s.crc, s.inChunk = 0, 0
	}
}

func (s *checksum) endBlock() {
	s.endChunk()
	if s.inBlock > 0 {
		s.blocks = s.md5.Sum(s.blocks)
		s.md5.Reset()
		s.inBlock = 0
	}
}

// sum returns the serialized checksum: bytes in a chunk (4 bytes), chunks in a block (8, 0 if there is one block) and
// the MD5. Hadoop takes the MD5 of its whole buffer, which is as long as the next power of two from 32 on.
func (s *checksum) sum() []byte {
	s.endBlock()
	room := 32
	for room < len(s.blocks) {
		room *= 2
	}
	d := md5.Sum(append(s.blocks, make([]byte, room-len(s.blocks))...))
	perSum, perBlock := uint32(bytesPerSum), uint64(0)
	switch {
	case s.size == 0:
		perSum = 0
	case len(s.blocks) > md5.Size:
		perBlock = uint64(s.block / bytesPerSum)
	}
	b := binary.BigEndian.AppendUint32(nil, perSum)
	b = binary.BigEndian.AppendUint64(b, perBlock)
	return append(b, d[:]...)
}

// checksumAnswer words a serialized checksum. Hadoop pads it to 32 bytes.
func checksumAnswer(sum []byte) answer {
	perSum, perBlock, kind := uint32(0), uint64(0), "CRC32C"
	if len(sum) >= 12 {
		perSum, perBlock = binary.BigEndian.Uint32(sum), binary.BigEndian.Uint64(sum[4:])
	}
	if perSum == 0 {
		kind = "CRC32" // of an empty file
	}
	length := len(sum)
	for len(sum) < 32 {
		sum = append(sum, 0)
	}
	return answer{body: named("FileChecksum", map[string]any{
		"algorithm": fmt.Sprintf("MD5-of-%dMD5-of-%d%s", perBlock, perSum, kind),
		"bytes":     hex.EncodeToString(sum), "length": length,
	})}
}
