//go:build reference

package main

import (
	"io"
	"os"

	theirs "github.com/PaddlePaddle/recordio"

	"github.com/paddlecloud/pfs/recordio"
)

// reference is the library that the files are compatible with, with the chunks that
// it writes by default.
func reference() *library {
	return &library{name: "PaddlePaddle/recordio", scan: scanTheirs, write: writeTheirs, pick: pickTheirs}
}

func scanTheirs(path string) (int64, error) {
	s, err := theirs.NewScanner(path)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	n := int64(0)
	for s.Scan() {
		n += int64(len(s.Record()))
	}
	return n, s.Err()
}

func writeTheirs(w io.Writer, text []byte, c recordio.Compressor) error {
	out := theirs.NewWriter(w, recordio.DefaultChunkBytes, int(c))
	for rec := range records(text) {
		if _, err := out.Write(rec); err != nil {
			return err
		}
	}
	return out.Close()
}

func pickTheirs(path string) (func(i int) ([]byte, error), int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	x, err := theirs.LoadIndex(f)
	if err != nil {
		return nil, 0, err
	}
	return func(i int) ([]byte, error) {
		s := theirs.NewRangeScanner(f, x, i, 1)
		if !s.Scan() {
			return nil, s.Err()
		}
		return s.Record(), nil
	}, x.NumRecords, nil
}
