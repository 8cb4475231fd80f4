package recordio

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
)

// Index locates every chunk, record and separately readable block. It needs about four bytes of
// memory a record. It is immutable and safe for concurrent use.
type Index struct {
	size    int64 // of the file
	dialect Dialect
	records int64
	chunks  []ChunkInfo // those with records
	parts   []part      // of each chunk
}

// part describes the inside of a chunk.
type part struct {
	ends   []uint32 // end offsets of the records in the data
	blocks []block
}

// bounds returns the position of record k in the chunk's data, without its length prefix.
func (p *part) bounds(k int64) (start, end int) {
	if k > 0 {
		start = int(p.ends[k-1])
	}
	return start + lengthSize, int(p.ends[k])
}

// IndexName returns the file name of the index of a file: a dot-file beside it, which patterns such
// as name* do not match.
func IndexName(name string) string { return "." + name + ".idx" }

// BuildIndex reads and verifies the whole file and returns its index.
func BuildIndex(r io.Reader, opts ScanOptions) (*Index, error) {
	opts.Policy = Fail // an index requires an undamaged file
	s := newScanner(r, opts, Unknown, true)
	defer s.Close()
	d := decoder{limit: s.opts.MaxChunkBytes}
	x, end := &Index{}, opts.Offset
	s.seen = func(c *chunk) error {
		end = c.off + int64(len(c.stored))
		if len(c.walk.ends) == 0 {
			return nil
		}
		blocks, flt := d.blocks(s.dialect, c.head.comp, c.payload(), len(c.raw))
		if flt != nil {
			return flt.at(opts.Path, c.off, c.num)
		}
		x.add(c.info(), part{ends: slices.Clone(c.walk.ends), blocks: blocks})
		return nil
	}
	for s.nextChunk() {
	}
	x.size, x.dialect = end, s.dialect
	return x, s.err
}

// add appends a chunk.
func (x *Index) add(info ChunkInfo, p part) {
	info.First = x.records
	x.records += info.Records
	x.chunks = append(x.chunks, info)
	x.parts = append(x.parts, p)
}

// Len returns the number of records.
func (x *Index) Len() int64 { return x.records }

// findChunk returns the number of the chunk that holds record i.
func findChunk(chunks []ChunkInfo, i int64) int {
	return sort.Search(len(chunks), func(c int) bool { return chunks[c].First+chunks[c].Records > i })
}

func outOfRange(path string, i, n int64) error {
	return &Error{Path: path, Chunk: -1, Record: i, Kind: OutOfRange, Err: fmt.Errorf("there are %d", n)}
}

// Matches compares x with the size of the file and with every chunk header, which includes the
// checksum of the payload. It returns an error of Kind Stale if one differs.
func (x *Index) Matches(r io.ReaderAt, size int64) error {
	if err := x.fits(size); err != nil {
		return err
	}
	for _, info := range x.chunks {
		if err := x.matches(r, info); err != nil {
			return err
		}
	}
	return nil
}

// fits compares sizes.
func (x *Index) fits(size int64) error {
	if size != x.size {
		return plain("", Stale, fmt.Errorf("the file has %d bytes, the index is of one of %d", size, x.size))
	}
	return nil
}

// matches compares the header of one chunk.
func (x *Index) matches(r io.ReaderAt, info ChunkInfo) error {
	var b [headerSize]byte
	if _, err := r.ReadAt(b[:], info.Offset); err != nil && !errors.Is(err, io.EOF) {
		return plain("", IO, err)
	}
	said := header{crc: info.CRC, comp: info.Compressor, size: uint32(info.Size - headerSize), n: uint32(info.Records)}
	if string(b[:len(magicBytes)]) != string(magicBytes) || parseHeader(b[:], x.dialect) != said {
		return (&Error{Record: -1, Kind: Stale, Err: errors.New("another chunk is there")}).at("", info.Offset, int64(findChunk(x.chunks, info.First)))
	}
	return nil
}

// indexer builds the index of the file that a Writer writes.
type indexer struct {
	x    Index
	ends []uint32 // of the current chunk
}

func newIndexer(d Dialect) *indexer { return &indexer{x: Index{dialect: d}} }

// record adds a record that ends at offset end in the chunk's data.
func (i *indexer) record(end int) { i.ends = append(i.ends, uint32(end)) }

// chunk ends the chunk.
func (i *indexer) chunk(info ChunkInfo, blocks []block) {
	i.x.add(info, part{ends: slices.Clone(i.ends), blocks: blocks})
	i.ends = i.ends[:0]
}

// done returns the index of a file of size bytes.
func (i *indexer) done(size int64) *Index {
	x := i.x
	x.size = size
	return &x
}
