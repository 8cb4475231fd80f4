package main

import (
	"context"
	"iter"

	"github.com/paddlecloud/pfs/recordio"
)

// recordsOf yields the records of files of RecordIO in order, up to limit of them if
// that is not negative. A record is valid until the next step.
func (d *deps) recordsOf(ctx context.Context, files []dataFile, limit int64, m *meter) iter.Seq2[dataRecord, error] {
	return func(yield func(dataRecord, error) bool) {
		for _, f := range files {
			if limit == 0 || !d.recordsIn(ctx, f, &limit, m, yield) {
				return
			}
		}
	}
}

// recordsIn yields the records of one file; false if there are to be no more.
func (d *deps) recordsIn(ctx context.Context, f dataFile, limit *int64, m *meter, yield func(dataRecord, error) bool) bool {
	in, err := d.open(ctx, f, m)
	if err != nil {
		yield(dataRecord{}, err)
		return false
	}
	defer in.Close()
	if err := f.stated.ofSize(in.end, in.size); err != nil {
		yield(dataRecord{}, err)
		return false
	}
	m.begin(f.text)
	s := recordio.NewScanner(in, recordio.ScanOptions{Path: f.text})
	defer s.Close()
	n := int64(0)
	for ; s.Scan(); n++ {
		name := recordName(f.text, n)
		if *limit == 0 || !yield(dataRecord{name: name, data: s.Bytes()}, nil) {
			return false
		}
		*limit--
	}
	err = s.Err()
	if err == nil {
		err = f.stated.ofRecords(in.end, n)
	}
	if err != nil {
		yield(dataRecord{}, d.foreignHint(in, err))
		return false
	}
	m.finished()
	return true
}
