package wire

import (
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/zeebo/xxh3"
)

// SumSize is the length of the checksum after each chunk.
const SumSize = len(pfs.LeafDigest{})

// Sum computes the checksum of a chunk as it is copied: its XXH3-128, which is also the digest of
// the leaf if the chunk is one. The zero value is ready to use.
type Sum struct{ hash xxh3.Hasher }

// Add adds p.
func (s *Sum) Add(p []byte) { _, _ = s.hash.Write(p) } // never fails

// Digest returns the checksum of the bytes added.
func (s *Sum) Digest() pfs.LeafDigest { return s.hash.Sum128().Bytes() }

// piece is how much of a chunk is hashed and passed on at a time: small enough to be still in the
// processor's cache at the next step.
const piece = 256 << 10

// ChunkReader yields a chunk in its wire form: the bytes of p followed by their checksum, which it
// computes while reading.
type ChunkReader struct {
	p    []byte
	off  int
	sum  Sum
	tail []byte
}

// NewChunkReader returns the wire form of p.
func NewChunkReader(p []byte) *ChunkReader { return &ChunkReader{p: p} }

// Len returns the number of unread bytes.
func (r *ChunkReader) Len() int64 {
	if r.tail != nil {
		return int64(len(r.tail))
	}
	return int64(len(r.p) - r.off + SumSize)
}

func (r *ChunkReader) Read(b []byte) (int, error) {
	if r.off < len(r.p) {
		n := copy(b, r.p[r.off:])
		r.advance(n)
		return n, nil
	}
	if r.tail == nil {
		r.end()
	}
	if len(r.tail) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.tail)
	r.tail = r.tail[n:]
	return n, nil
}

func (r *ChunkReader) advance(n int) {
	r.sum.Add(r.p[r.off : r.off+n])
	r.off += n
}

// end appends the checksum.
func (r *ChunkReader) end() {
	d := r.sum.Digest()
	r.tail = d[:]
}

// WriteTo saves io.Copy a buffer and a copy.
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

// WriteNext writes the next part of the chunk.
func (r *ChunkReader) WriteNext(w io.Writer) (int64, error) {
	if r.off < len(r.p) {
		n, err := w.Write(r.p[r.off:min(r.off+piece, len(r.p))])
		r.advance(n)
		return int64(n), err
	}
	if r.tail == nil {
		r.end()
	}
	n, err := w.Write(r.tail)
	r.tail = r.tail[n:]
	return int64(n), err
}

// ReadChunk reads a chunk of exactly len(p) bytes into p, and its checksum. If the checksum differs
// it returns Integrity, and the bytes in p must not be used.
func ReadChunk(r io.Reader, p []byte) error {
	var sum Sum
	for b := p; len(b) > 0; {
		n := min(piece, len(b))
		if _, err := io.ReadFull(r, b[:n]); err != nil {
			return cut(err)
		}
		sum.Add(b[:n])
		b = b[n:]
	}
	return sum.Check(r)
}

// Check reads the checksum after a chunk from r and returns Integrity, with ErrDamaged, if it
// differs from that of the bytes added.
func (s *Sum) Check(r io.Reader) error {
	var want pfs.LeafDigest
	if _, err := io.ReadFull(r, want[:]); err != nil {
		return cut(err)
	}
	if got := s.Digest(); got != want {
		return pfs.Errorf("wire.Check", "", pfs.Integrity, "%w: chunk with XXH3-128 %x arrived as %x", ErrDamaged, want, got)
	}
	return nil
}
