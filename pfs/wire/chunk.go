package wire

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// SumSize is the length of the checksum behind each chunk.
const SumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// UpdateSum continues the CRC-32C of a chunk.
func UpdateSum(sum uint32, p []byte) uint32 { return crc32.Update(sum, castagnoli, p) }

// piece is how much of a chunk is summed and passed on at a time: small enough to be
// still in the processor's cache when the next step touches it.
const piece = 256 << 10

// ChunkReader yields a chunk as it goes over the wire: the bytes of p and then their
// sum, which is computed on the way.
type ChunkReader struct {
	p    []byte
	off  int
	sum  uint32
	tail []byte
}

// NewChunkReader returns the wire form of p.
func NewChunkReader(p []byte) *ChunkReader { return &ChunkReader{p: p} }

// Len returns the number of bytes that are still to be read.
func (r *ChunkReader) Len() int64 {
	if r.tail != nil {
		return int64(len(r.tail))
	}
	return int64(len(r.p)-r.off) + SumSize
}

func (r *ChunkReader) Read(b []byte) (int, error) {
	if r.off < len(r.p) {
		n := copy(b, r.p[r.off:])
		r.advance(n)
		return n, nil
	}
	if r.tail == nil {
		r.tail = binary.BigEndian.AppendUint32(nil, r.sum)
	}
	if len(r.tail) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.tail)
	r.tail = r.tail[n:]
	return n, nil
}

func (r *ChunkReader) advance(n int) {
	r.sum = UpdateSum(r.sum, r.p[r.off:r.off+n])
	r.off += n
}

// WriteTo spares io.Copy its buffer and its copy.
func (r *ChunkReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for r.Len() > 0 {
		n, err := r.WriteNext(w)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// WriteNext writes the next piece.
func (r *ChunkReader) WriteNext(w io.Writer) (int64, error) {
	if r.off < len(r.p) {
		n, err := w.Write(r.p[r.off:min(r.off+piece, len(r.p))])
		r.advance(n)
		return int64(n), err
	}
	if r.tail == nil {
		r.tail = binary.BigEndian.AppendUint32(nil, r.sum)
	}
	n, err := w.Write(r.tail)
	r.tail = r.tail[n:]
	return int64(n), err
}

// ReadChunk reads a chunk of exactly len(p) bytes and its sum into p. A sum that
// differs answers Integrity; the bytes in p are not to be used then.
func ReadChunk(r io.Reader, p []byte) error {
	var sum uint32
	for b := p; len(b) > 0; {
		n := min(piece, len(b))
		if _, err := io.ReadFull(r, b[:n]); err != nil {
			return cut(err)
		}
		sum = UpdateSum(sum, b[:n])
		b = b[n:]
	}
	return CheckSum(r, sum)
}

// CheckSum reads the sum behind a chunk and answers Integrity if it is not sum.
func CheckSum(r io.Reader, sum uint32) error {
	var tail [SumSize]byte
	if _, err := io.ReadFull(r, tail[:]); err != nil {
		return cut(err)
	}
	if want := binary.BigEndian.Uint32(tail[:]); want != sum {
		return pfs.Errorf("wire.CheckSum", "", pfs.Integrity, "%w: chunk with CRC-32C %08x arrived as %08x", ErrDamaged, want, sum)
	}
	return nil
}
