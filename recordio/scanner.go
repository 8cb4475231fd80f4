package recordio

import (
	"errors"
	"io"
)

// Scanner reads the records of a stream in order. It is not safe for concurrent use.
type Scanner struct {
	opts ScanOptions
	err  error
	over bool

	chunk *chunk // current; nil before the first
	raw   []byte
	ends  []uint32
	i     int // index of the next record in ends
	start int // start of the current record in raw
	end   int
	done  int64 // records of earlier chunks
	loss  Loss

	source  source
	dialect Dialect
	seen    func(*chunk) error // called for every correct chunk; may be nil
}

// source delivers decoded chunks in order. A chunk is valid until the next call.
type source interface {
	next() (*chunk, Dialect, error)
	close()
}

// NewScanner returns a Scanner of r. Close it unless Scan has returned false. A Scanner reads
// ahead, so the position of r afterwards is undefined.
func NewScanner(r io.Reader, opts ScanOptions) *Scanner {
	return newScanner(r, opts, Unknown, false)
}

func newScanner(r io.Reader, opts ScanOptions, dialect Dialect, verify bool) *Scanner {
	s := &Scanner{opts: opts}
	if err := s.opts.check(); err != nil {
		s.err, s.over = err, true
		return s
	}
	opts = s.opts
	f := &framer{
		win: window{r: r, off: opts.Offset}, path: opts.Path, limit: opts.MaxChunkBytes, policy: opts.Policy,
		dialect: dialect, budget: 4 * opts.MaxChunkBytes,
	}
	newDecoder := func() *chunkDecoder {
		return &chunkDecoder{decoder: decoder{limit: opts.MaxChunkBytes, verify: verify}, path: opts.Path, policy: opts.Policy}
	}
	s.source = &direct{framer: f, decoder: newDecoder()}
	if opts.Parallelism > 1 {
		s.source = &adaptive{source: s.source, start: func(array []byte) source {
			return newPipeline(f, newDecoder, opts.Parallelism, array)
		}}
	}
	return s
}

// direct reads and decodes in the caller's goroutine.
type direct struct {
	framer  *framer
	decoder *chunkDecoder
	chunk   chunk
}

func (d *direct) next() (*chunk, Dialect, error) {
	if err := d.framer.next(&d.chunk); err != nil {
		return nil, d.framer.dialect, err
	}
	d.decoder.open(&d.chunk, d.framer.dialect)
	return &d.chunk, d.framer.dialect, nil
}

func (d *direct) close() {
	d.decoder.close()
	d.framer.win.close()
	giveBuf(d.chunk.array)
}

// Scan advances to the next record. It returns false at the end and after an error; see Err.
func (s *Scanner) Scan() bool {
	for s.i >= len(s.ends) {
		if !s.nextChunk() {
			return false
		}
	}
	s.start = s.end + s.gap()
	s.end = int(s.ends[s.i])
	s.i++
	return true
}

// gap is the number of bytes before each record in raw.
func (s *Scanner) gap() int {
	if s.chunk.bare {
		return 0
	}
	return lengthSize
}

// nextChunk advances to the next chunk, which may have no records.
func (s *Scanner) nextChunk() bool {
	s.done += int64(len(s.ends))
	s.raw, s.ends, s.i, s.start, s.end = nil, nil, 0, 0, 0
	if s.over {
		return false
	}
	c, d, err := s.source.next()
	if s.dialect = d; err == nil {
		err = s.accept(c)
	}
	if err != nil {
		s.stop(err)
		return false
	}
	s.chunk, s.raw, s.ends = c, c.raw, c.walk.ends
	return true
}

// accept records what c reports besides its records: damage and errors.
func (s *Scanner) accept(c *chunk) error {
	if c.err != nil {
		return c.err
	}
	if c.damage != nil {
		s.loss.add(*c.damage)
		if s.opts.OnDamage != nil {
			s.opts.OnDamage(*c.damage)
		}
		return nil
	}
	if s.seen != nil {
		return s.seen(c)
	}
	return nil
}

// stop ends the scan.
func (s *Scanner) stop(err error) {
	s.over = true
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.source.close()
}

// Bytes returns the current record, which may be empty. It is valid until the next Scan or Close
// and must not be changed.
func (s *Scanner) Bytes() []byte { return s.raw[s.start:s.end:s.end] }

// Err returns the error that ended the scan, or nil at the end of the file.
func (s *Scanner) Err() error { return s.err }

// Close ends the scan and stops its goroutines; it may have to wait for a Read to return. It does
// not close the reader. It returns nil.
func (s *Scanner) Close() error {
	s.raw, s.ends, s.i, s.start, s.end = nil, nil, 0, 0, 0
	if !s.over {
		s.stop(io.EOF)
	}
	return nil
}

// Chunk describes the chunk of the current record. For a salvaged record the numbers are those of
// the damaged header, but the compressor is the one that the record is stored with.
func (s *Scanner) Chunk() ChunkInfo {
	if s.chunk == nil {
		return ChunkInfo{}
	}
	info := s.chunk.info()
	info.First = s.done
	return info
}

func (c *chunk) info() ChunkInfo {
	return ChunkInfo{
		Offset: c.off, Size: headerSize + int64(c.head.size), Records: int64(c.head.n),
		RawBytes: int64(len(c.raw)), Compressor: c.head.comp, CRC: c.head.crc,
	}
}

// Dialect returns the dialect of the file, Unknown before the first chunk.
func (s *Scanner) Dialect() Dialect { return s.dialect }

// Loss returns the total of the damage found so far.
func (s *Scanner) Loss() Loss { return s.loss }
