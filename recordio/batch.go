package recordio

import (
	"cmp"
	"slices"
)

// ReadBatch reads the given records in file order and passes each to yield with its position k in
// indices. A record that is listed twice is passed twice. rec is valid during the call. ReadBatch
// stops at an error of yield and returns it.
func (f *File) ReadBatch(indices []int64, yield func(k int, rec []byte) error) error {
	order := make([]int, len(indices))
	for k, i := range indices {
		if i < 0 || i >= f.x.records {
			return outOfRange(f.opts.Path, i, f.x.records)
		}
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(indices[a], indices[b]) })
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

// sameChunk returns how many leading elements of order are in one chunk.
func (f *File) sameChunk(indices []int64, order []int) int {
	c := f.x.chunks[findChunk(f.x.chunks, indices[order[0]])]
	n := slices.IndexFunc(order, func(k int) bool { return indices[k] >= c.First+c.Records })
	if n < 0 {
		return len(order)
	}
	return n
}

// dense reports whether decoding the whole chunk of record i is cheaper than decoding the blocks of
// n records.
func (f *File) dense(i int64, n int) bool {
	p := f.known[findChunk(f.x.chunks, i)].Load()
	return p == nil || n >= len(p.blocks)
}
