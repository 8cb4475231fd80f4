package recordio

import (
	"errors"
	"io"
	"math"
)

// maxListed bounds the damage that a Report lists.
const maxListed = 1000

// Report is the result of Verify.
type Report struct {
	Dialect     Dialect
	Bytes       int64                // of the file
	Chunks      int64                // intact ones
	Records     int64                // readable records, including those salvaged from damaged chunks
	RecordBytes int64                // bytes of these records
	Smallest    int64                // bytes of the shortest record; 0 if there is none
	Largest     int64                // bytes of the longest record
	Compressors map[Compressor]int64 // number of chunks by compressor
	Loss        Loss
	Damage      []Damage // the first 1,000
}

// Verify reads the whole file and verifies every checksum, including those inside payloads. Damage
// is in the report; the error is of Kind IO or reports an invalid option. Policy Fail stops at the
// first damage, the other policies find all of it.
func Verify(r io.Reader, opts ScanOptions) (Report, error) {
	rep := Report{Smallest: math.MaxInt64, Compressors: map[Compressor]int64{}}
	told := opts.OnDamage
	opts.OnDamage = func(d Damage) {
		rep.list(d)
		if told != nil {
			told(d)
		}
	}
	in := &counter{r: r}
	s := newScanner(in, opts, Unknown, true)
	defer s.Close()
	s.seen = func(c *chunk) error {
		rep.Chunks++
		if c.head.n > 0 {
			rep.Compressors[c.head.comp]++
		}
		return nil
	}
	for s.Scan() {
		rep.record(int64(len(s.Bytes())))
	}
	rep.Dialect, rep.Loss, rep.Bytes = s.Dialect(), s.Loss(), in.n
	if rep.Records == 0 {
		rep.Smallest = 0
	}
	return rep, rep.first(s.Err())
}

// list appends d unless the list is full.
func (rep *Report) list(d Damage) {
	if len(rep.Damage) < maxListed {
		rep.Damage = append(rep.Damage, d)
	}
}

func (rep *Report) record(size int64) {
	rep.Records++
	rep.RecordBytes += size
	rep.Smallest = min(rep.Smallest, size)
	rep.Largest = max(rep.Largest, size)
}

// first moves the damage at which policy Fail stopped into the report.
func (rep *Report) first(err error) error {
	var e *Error
	if !errors.As(err, &e) || !e.Kind.damage() {
		return err
	}
	d := Damage{Offset: e.Offset, Bytes: -1, Lost: -1, Err: e}
	rep.list(d)
	rep.Loss.add(d)
	return nil
}

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
