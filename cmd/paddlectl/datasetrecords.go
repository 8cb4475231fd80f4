package main

import (
	"cmp"
	"context"
	"iter"

	"github.com/paddlecloud/pfs/recordio"
)

// recordsOf yields the records of files of RecordIO in order, up to limit of them if
// that is not negative. A record is valid until the next step.
func (r *reading) recordsOf(ctx context.Context, files []dataFile, limit int64) iter.Seq2[dataRecord, error] {
	return func(yield func(dataRecord, error) bool) {
		for _, f := range files {
			if limit == 0 || !r.recordsIn(ctx, f, &limit, yield) {
				return
			}
		}
	}
}

// recordsIn yields the records of one file; false if there are to be no more. A file of
// which something is lost need not be what its manifest states.
func (r *reading) recordsIn(ctx context.Context, f dataFile, limit *int64, yield func(dataRecord, error) bool) bool {
	in, err := r.d.open(ctx, f, r.m)
	if err != nil {
		yield(dataRecord{}, err)
		return false
	}
	defer in.Close()
	if err := f.stated.ofSize(in.end, in.size); err != nil && r.o.policy == recordio.Fail {
		yield(dataRecord{}, err)
		return false
	}
	r.m.begin(f.text)
	s := recordio.NewScanner(in, r.o.scan(f.text, r.told))
	defer func() {
		s.Close()
		r.add(s.Loss())
	}()
	n := int64(0)
	for ; s.Scan(); n++ {
		name := recordName(f.text, n)
		if *limit == 0 || !yield(dataRecord{name: name, data: s.Bytes()}, nil) {
			return false
		}
		*limit--
	}
	err = s.Err()
	if err == nil && s.Loss().Places == 0 {
		err = cmp.Or(f.stated.ofSize(in.end, in.size), f.stated.ofRecords(in.end, n))
	}
	if err != nil {
		yield(dataRecord{}, r.d.foreignHint(in, err))
		return false
	}
	r.m.finished()
	return true
}
