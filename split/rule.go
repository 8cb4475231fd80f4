package split

import (
	"fmt"
	"math"
	"math/bits"
)

// Rule determines where one file ends and the next begins. It is a value, made by the functions
// below; the zero Rule is invalid.
type Rule struct {
	kind  kind
	n     int64 // number of records, bytes or files, depending on kind
	total int64 // total number of records, from WithCount
	known bool  // whether total is set
}

type kind uint8

const (
	none kind = iota
	records
	bytes
	files
	roundRobin
	paddleSplit
	paddleConvert
)

// Records puts exactly n records into each file, and the rest into the last one.
func Records(n int64) Rule { return Rule{kind: records, n: n} }

// Bytes fills each file with up to n bytes of records.
func Bytes(n int64) Rule { return Rule{kind: bytes, n: n} }

// Files makes k files of consecutive records. It needs WithCount.
func Files(k int) Rule { return Rule{kind: files, n: int64(k)} }

// RoundRobin deals records out to k files, which are open at the same time.
func RoundRobin(k int) Rule { return Rule{kind: roundRobin, n: int64(k)} }

// PaddleSplit divides records like the reference implementation's split with line_count n.
func PaddleSplit(n int64) Rule { return Rule{kind: paddleSplit, n: n} }

// PaddleConvert divides records like the reference implementation's convert with line_count n.
func PaddleConvert(n int64) Rule { return Rule{kind: paddleConvert, n: n} }

// WithCount returns r for exactly total records. A Writer then knows names with the number of files
// from the start (except for Bytes), and reports a different number of records as an error at its
// end.
func (r Rule) WithCount(total int64) Rule {
	r.total, r.known = total, true
	return r
}

// NeedsCount reports whether r requires WithCount.
func (r Rule) NeedsCount() bool { return r.kind == files && !r.known }

// NeedsSizes reports whether a Plan of r depends on the sizes of records.
func (r Rule) NeedsSizes() bool { return r.kind == bytes }

// check returns ErrRule, ErrNeedsCount or ErrCount for an invalid rule.
func (r Rule) check() error {
	switch {
	case r.kind == none:
		return fmt.Errorf("%w: none is given", ErrRule)
	case r.n < 1:
		return fmt.Errorf("%w: %d %s: at least 1", ErrRule, r.n, r.unit())
	case r.fixed() && r.n > math.MaxInt32:
		return fmt.Errorf("%w: %d files are too many: at most %d", ErrRule, r.n, math.MaxInt32)
	case r.NeedsCount():
		return fmt.Errorf("%w to make %d files of consecutive records: count them first, or deal them out (round robin)", ErrNeedsCount, r.n)
	case r.known && r.total < 0:
		return fmt.Errorf("%w: %d", ErrCount, r.total)
	case r.known && r.fixed():
		return r.enough(r.total)
	}
	return nil
}

func (r Rule) unit() string {
	switch {
	case r.kind == bytes:
		return "bytes a file"
	case r.fixed():
		return "files"
	}
	return "records a file"
}

// fixed reports whether the rule sets the number of files.
func (r Rule) fixed() bool { return r.kind == files || r.kind == roundRobin }

// enough returns an error if there are fewer records than files.
func (r Rule) enough(total int64) error {
	if r.fixed() && total < r.n {
		return fmt.Errorf("%w: %d cannot fill %d files: ask for at most %d files", ErrCount, total, r.n, total)
	}
	return nil
}

// end returns the first record after file i, for rules that count consecutive records.
func (r Rule) end(i int) int64 {
	next := int64(i) + 1
	switch r.kind {
	case records:
		return times(next, r.n)
	case paddleSplit, paddleConvert:
		return plusOne(times(next, r.n))
	}
	return r.total/r.n*next + min(next, r.total%r.n)
}

// trailing reports whether an empty file follows total records in i files.
func (r Rule) trailing(total int64, i int) bool {
	if r.kind != paddleConvert {
		return false
	}
	return i == 0 || total == r.end(i-1)
}

// times and plusOne saturate at the largest number.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plusOne(a int64) int64 { return a + min(1, math.MaxInt64-a) }
