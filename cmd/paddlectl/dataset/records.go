package dataset

import (
	"cmp"
	"context"
	"iter"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/recordio"
)

// recordsOf yields the records of files of RecordIO in order, up to limit of them if
// that is not negative. A record is valid until the next step.
func recordsOf(ctx context.Context, r *datafile.Reading, files []datafile.File, limit int64) iter.Seq2[dataRecord, error] {
	return func(yield func(dataRecord, error) bool) {
		for _, f := range files {
			if limit == 0 || !recordsIn(ctx, r, f, &limit, yield) {
				return
			}
		}
	}
}

// recordsIn yields the records of one file; false if there are to be no more. A file of
// which something is lost need not be what its manifest states.
func recordsIn(ctx context.Context, r *datafile.Reading, f datafile.File, limit *int64, yield func(dataRecord, error) bool) bool {
	in, err := datafile.Open(ctx, r.App, f, r.M)
	if err != nil {
		yield(dataRecord{}, err)
		return false
	}
	defer in.Close()
	if err := f.Stated.OfSize(in.End, in.Size); err != nil && r.O.Policy == recordio.Fail {
		yield(dataRecord{}, err)
		return false
	}
	r.M.Begin(f.Text)
	s := recordio.NewScanner(in, r.O.Scan(f.Text, r.Told))
	defer func() {
		s.Close()
		r.Add(s.Loss())
	}()
	n := int64(0)
	for ; s.Scan(); n++ {
		name := recordName(f.Text, n)
		if *limit == 0 || !yield(dataRecord{name: name, data: s.Bytes()}, nil) {
			return false
		}
		*limit--
	}
	err = s.Err()
	if err == nil && s.Loss().Places == 0 {
		err = cmp.Or(f.Stated.OfSize(in.End, in.Size), f.Stated.OfRecords(in.End, n))
	}
	if err != nil {
		yield(dataRecord{}, datafile.ForeignHint(r.App, in, err))
		return false
	}
	r.M.Finished()
	return true
}
