package recordio

import (
	"fmt"
	"io"
	"iter"
)

// Range returns records lo to hi-1 in order. Each is valid until the next step and must not be
// changed. A pair with an error is the last one. Range reads the chunks sequentially and decodes
// them in OpenOptions.Parallelism goroutines.
func (f *File) Range(lo, hi int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if lo < 0 || hi > f.x.records || lo > hi {
			yield(nil, plain(f.opts.Path, OutOfRange, fmt.Errorf("records %d to %d of %d", lo, hi, f.x.records)))
			return
		}
		if lo == hi {
			return
		}
		s := f.section(lo, hi)
		defer s.Close()
		if err := f.pass(s, lo, hi, yield); err != nil {
			yield(nil, err)
		}
	}
}

// section returns a Scanner over the chunks that hold records lo to hi-1.
func (f *File) section(lo, hi int64) *Scanner {
	first, last := f.x.chunks[findChunk(f.x.chunks, lo)], f.x.chunks[findChunk(f.x.chunks, hi-1)]
	end := last.Offset + last.Size
	opts := ScanOptions{Path: f.opts.Path, Offset: first.Offset, Parallelism: f.opts.Parallelism, MaxChunkBytes: f.opts.MaxChunkBytes}
	return newScanner(io.NewSectionReader(f.r, first.Offset, end-first.Offset), opts, f.x.dialect, false)
}

// pass yields the records of s that are in the range.
func (f *File) pass(s *Scanner, lo, hi int64, yield func([]byte, error) bool) error {
	i := f.x.chunks[findChunk(f.x.chunks, lo)].First
	for i < hi && s.Scan() {
		if i >= lo && !yield(s.Bytes(), nil) {
			return nil
		}
		i++
	}
	if err := s.Err(); err != nil || i == hi {
		return err
	}
	return plain(f.opts.Path, Stale, fmt.Errorf("%d records fewer than the index says", hi-i))
}
