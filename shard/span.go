package shard

import "fmt"

// Span is a run of consecutive records in one file.
type Span struct {
	File    string `json:"file"`
	First   int64  `json:"first"` // number of its first record in the file
	Records int64  `json:"records"`
}

// Range returns the records of trainer t when all records are cut into t.Count runs whose lengths
// differ by at most one, the longer ones first. At most two files of a trainer are shared with
// others. The error is ErrTrainer or ErrIdle.
func (d *Dataset) Range(t Trainer) ([]Span, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	n := int64(t.Count)
	if d.Len() < n {
		return nil, fmt.Errorf("%w: %d records for %d trainers", ErrIdle, d.Len(), n)
	}
	id := int64(t.ID)
	return d.Spans(cut(d.Len(), id, n), cut(d.Len(), id+1, n)), nil
}

// Spans locates the records lo <= i < hi; bounds beyond the dataset are clipped.
func (d *Dataset) Spans(lo, hi int64) []Span {
	lo, hi = max(lo, 0), min(hi, d.Len())
	var spans []Span
	for lo < hi {
		i := d.find(lo)
		n := min(hi, d.starts[i+1]) - lo
		spans = append(spans, Span{File: d.files[i].Name, First: lo - d.starts[i], Records: n})
		lo += n
	}
	return spans
}
