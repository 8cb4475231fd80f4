package hdfsfs

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// ChecksumAlgorithm is the store's own checksum as an algorithm of Digest: the MD5 over the blocks
// of the MD5s of the CRC-32C of their chunks. The text after ":" is the output of "hdfs dfs
// -checksum". The DataNodes answer from their stored checksums and read no data.
const ChecksumAlgorithm = "md5-of-md5-of-crc32c"

// Digest computes a digest from the stored bytes, never from a stored digest.
func (f *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "hdfsfs.Digest"
	if algorithm == ChecksumAlgorithm {
		return f.storeChecksum(ctx, op, name)
	}
	h, err := f.open(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	d, err := digest.OfFile(ctx, h, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}

// storeChecksum asks HDFS for its checksum of a file.
func (f *FS) storeChecksum(ctx context.Context, op string, name pfs.Path) (string, error) {
	h, err := f.open(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	var sums []byte // of the blocks
	var first *hdfsproto.BlockChecksum
	for off := int64(0); off < h.st.Size; {
		block, err := h.Block(ctx, off, false)
		if err != nil {
			return "", fail(op, name, err)
		}
		sum, err := h.fs.nodes.Checksum(ctx, h, block)
		if err != nil {
			return "", h.failed(ctx, op, off, err)
		}
		if first == nil {
			first = sum
		}
		if sum.GetType() != hdfsproto.ChecksumType_CHECKSUM_CRC32C || sum.GetBytesPerChecksum() != first.GetBytesPerChecksum() {
			return "", pfs.Errorf(op, name, pfs.Unsupported, "a block has %v of chunks of %d bytes: all must have CRC-32C of chunks of one length",
				sum.GetType(), sum.GetBytesPerChecksum())
		}
		sums = append(sums, sum.Sum...)
		off = int64(block.GetOffset() + block.GetBlock().GetNumBytes())
	}
	var perBlock uint64 // 0 if there is one block
	if len(sums) > md5.Size {
		perBlock = first.GetChecksums()
	}
	length := 32 // Hadoop fills its buffer up with zeros
	for length < len(sums) {
		length *= 2
	}
	all := md5.Sum(append(sums, make([]byte, length-len(sums))...))
	text := binary.BigEndian.AppendUint32(nil, first.GetBytesPerChecksum())
	text = append(binary.BigEndian.AppendUint64(text, perBlock), all[:]...)
	return ChecksumAlgorithm + ":" + hex.EncodeToString(text), nil
}
