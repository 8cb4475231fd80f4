package recordfile

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/paddlecloud/pfs/recordio"
)

// Reading reads the records of files from start to end and counts damage.
type Reading struct {
	Policy        recordio.Policy // how to handle damage
	Parallel      int             // goroutines that decompress; 0: one
	MaxChunkBytes int64           // of a chunk, stored or decompressed; 0: the default of package recordio
	OnDamage      func(recordio.Damage)
	Meter         Meter         // may be nil
	Loss          recordio.Loss // of all files that were read
}

// ScanOptions returns the options as package recordio has them.
func (r *Reading) ScanOptions(title string) recordio.ScanOptions {
	return recordio.ScanOptions{
		Path: title, Policy: r.Policy, Parallelism: r.Parallel, MaxChunkBytes: r.MaxChunkBytes, OnDamage: r.OnDamage,
	}
}

// Each calls fn with a scanner of f, which fn need not close.
func (r *Reading) Each(ctx context.Context, f File, fn func(*Input, *recordio.Scanner) error) error {
	m := r.Meter
	if m == nil {
		m = NoMeter{}
	}
	m.Begin(f.Title)
	defer m.Finished()
	in, err := Open(ctx, f, m)
	if err != nil {
		return err
	}
	defer in.Close()
	s := recordio.NewScanner(in, r.ScanOptions(f.Title))
	defer func() {
		s.Close()
		r.add(s.Loss())
	}()
	return in.Explain(fn(in, s))
}

func (r *Reading) add(l recordio.Loss) {
	r.Loss.Places += l.Places
	r.Loss.Bytes += l.Bytes
	r.Loss.Records += l.Records
	r.Loss.Saved += l.Saved
	r.Loss.Unknown += l.Unknown
}

// Record is a record and its name in messages.
type Record struct {
	Name func() string
	Data []byte
}

// RecordName returns a function for the name of a record in messages.
func RecordName(file string, n int64) func() string {
	return func() string { return fmt.Sprintf("%s: record %d", file, n) }
}

// Records yields the records of files in order. A record is valid until the next step. A file with
// lost records is not compared with its manifest.
func (r *Reading) Records(ctx context.Context, files []File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, f := range files {
			more := true
			err := r.Each(ctx, f, func(in *Input, s *recordio.Scanner) error {
				if r.Policy == recordio.Fail {
					if err := f.Stated.OfSize(in.End, in.Size); err != nil {
						return err
					}
				}
				n := int64(0)
				for ; s.Scan(); n++ {
					if more = yield(Record{RecordName(f.Title, n), s.Bytes()}, nil); !more {
						return nil
					}
				}
				if err := s.Err(); err != nil || s.Loss().Places > 0 {
					return err
				}
				return cmp.Or(f.Stated.OfSize(in.End, in.Size), f.Stated.OfRecords(in.End, n))
			})
			if err != nil {
				yield(Record{}, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}
