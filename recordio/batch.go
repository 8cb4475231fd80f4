package recordio

import (
	"fmt"
	"io"
	"iter"
	"slices"
)

// ReadBatch reads the given records and passes each to yield with its place k in
// indices, in the order of the file. A record asked for twice is passed twice. rec
// is valid during the call. An error of yield ends the batch and is returned.
func (f *File) ReadBatch(indices []int64, yield func(k int, rec []byte) error) error {
	order := make([]int, len(indices))
	for k, i := range indices {
		if i < 0 || i >= f.x.records {
			return outOfRange(f.opts.Path, i, f.x.records)
		}
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(indices[a], indices[b]) })
	r := f.reader()
	defer f.readers.Put(r)
	for len(order) > 0 {
		n := f.sameChunk(indices, order)
		dense := n > 1 && f.dense(indices[order[0]], n)
		for _, k := range order[:n] {
			rec, err := r.record(indices[k], dense)
			if err != nil {
				return f.about(err, indices[k])
			}
			if err := yield(k, rec); err != nil {
				return err
			}
		}
		order = order[n:]
	}
	return nil
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// sameChunk returns how many of the first of order are in one chunk.
func (f *File) sameChunk(indices []int64, order []int) int {
	c := f.x.chunks[findChunk(f.x.chunks, indices[order[0]])]
	n := slices.IndexFunc(order, func(k int) bool { return indices[k] >= c.First+c.Records })
	if n < 0 {
		return len(order)
	}
	return n
}

// dense reports whether n records touch so many blocks of the chunk of record i
// that decoding it at once is cheaper.
func (f *File) dense(i int64, n int) bool {
	p := f.known[findChunk(f.x.chunks, i)].Load()
	return p == nil || n >= len(p.blocks)
}

// Range returns records lo to hi-1 in order. Each is valid until the next step and
// must not be changed. A pair with an error is the last one. The chunks between are
// read from their beginning to their end, decoded in OpenOptions.Parallelism
// goroutines.
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

// section returns a Scanner of the chunks that hold records lo to hi-1.
func (f *File) section(lo, hi int64) *Scanner {
	first, last := f.x.chunks[findChunk(f.x.chunks, lo)], f.x.chunks[findChunk(f.x.chunks, hi-1)]
	end := last.Offset + last.Size
	opts := ScanOptions{Path: f.opts.Path, Offset: first.Offset, Parallelism: f.opts.Parallelism, MaxChunkBytes: f.opts.MaxChunkBytes}
	return newScanner(io.NewSectionReader(f.r, first.Offset, end-first.Offset), opts, f.x.dialect, false)
}

// pass passes the records of s that are in the range on.
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
