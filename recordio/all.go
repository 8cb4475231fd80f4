package recordio

import (
	"io"
	"iter"
)

// All returns the records of r in order. Each is valid until the next step and must not be changed.
// A pair with an error is the last one.
func All(r io.Reader, opts ScanOptions) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := NewScanner(r, opts)
		defer s.Close()
		for s.Scan() {
			if !yield(s.Bytes(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(nil, err)
		}
	}
}
