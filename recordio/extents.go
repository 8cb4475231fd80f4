package recordio

import "slices"

// Extent is a part of a file, in bytes.
type Extent struct{ Off, Len int64 }

// Extents returns the parts of the file that ReadBatch of these records reads, in ascending order and
// without overlap, so that a caller can fetch them in one request. It leaves out chunks that are
// decoded whole. It ignores numbers of records that do not exist.
func (f *File) Extents(indices []int64) []Extent {
	sorted := slices.Sorted(slices.Values(indices))
	from, _ := slices.BinarySearch(sorted, 0)
	to, _ := slices.BinarySearch(sorted, f.x.records)
	sorted = slices.Compact(sorted[from:to])
	var list []Extent
	add := func(off, n int64) {
		if k := len(list) - 1; k >= 0 && off <= list[k].Off+list[k].Len {
			list[k].Len = max(list[k].Len, off+n-list[k].Off)
			return
		}
		list = append(list, Extent{off, n})
	}
	for len(sorted) > 0 {
		c := findChunk(f.x.chunks, sorted[0])
		info, p := f.x.chunks[c], f.known[c].Load()
		n, _ := slices.BinarySearch(sorted, info.First+info.Records)
		if p != nil && (n == 1 || !f.dense(sorted[0], n)) {
			if !f.right[c].Load() {
				add(info.Offset, headerSize)
			}
			for _, i := range sorted[:n] {
				start, end := p.bounds(i - info.First)
				first, last, _, _ := cover(p.blocks, start-lengthSize, end)
				off, n := info.Offset+headerSize, int64(0)
				for _, b := range p.blocks[:first] {
					off += int64(b.stored)
				}
				for _, b := range p.blocks[first : last+1] {
					n += int64(b.stored)
				}
				add(off, n)
			}
		}
		sorted = sorted[n:]
	}
	return list
}
