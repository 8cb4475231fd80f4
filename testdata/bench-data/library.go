package main

import (
	"fmt"
	"io"
	"os"

	"github.com/paddlecloud/pfs/recordio"
)

// library is something that reads and writes records.
type library struct {
	name string
	// scan reads all records of a file and returns their bytes.
	scan func(path string) (int64, error)
	// write writes text in records of recordBytes.
	write func(w io.Writer, text []byte, comp recordio.Compressor) error
	// pick opens a file for reading single records, and returns how many there are.
	pick func(path string) (get func(i int) ([]byte, error), n int, err error)
}

const recordBytes = 1 << 10

// ours is the library of this module with so many goroutines that decode or encode.
func ours(workers int) *library {
	name := "pfs, 1 worker"
	if workers > 1 {
		name = fmt.Sprintf("pfs, %d workers", workers)
	}
	return &library{
		name:  name,
		scan:  func(path string) (int64, error) { return scanOurs(path, workers) },
		write: func(w io.Writer, text []byte, c recordio.Compressor) error { return writeOurs(w, text, c, workers) },
		pick:  pickOurs,
	}
}

func scanOurs(path string, workers int) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := int64(0)
	s := recordio.NewScanner(f, recordio.ScanOptions{Parallelism: workers})
	defer s.Close()
	for s.Scan() {
		n += int64(len(s.Bytes()))
	}
	return n, s.Err()
}

func writeOurs(w io.Writer, text []byte, c recordio.Compressor, workers int) error {
	out := recordio.NewWriter(w, recordio.WriterOptions{Compressor: c, Parallelism: workers})
	for rec := range records(text) {
		if err := out.Write(rec); err != nil {
			return err
		}
	}
	return out.Close()
}

// pickOurs reads with an index, as it is stored beside a file.
func pickOurs(path string) (func(i int) ([]byte, error), int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	x, err := recordio.BuildIndex(f, recordio.ScanOptions{})
	if err != nil {
		return nil, 0, err
	}
	r, err := recordio.Open(f, info.Size(), recordio.OpenOptions{Index: x})
	if err != nil {
		return nil, 0, err
	}
	var rec []byte
	return func(i int) ([]byte, error) {
		rec, err = r.ReadRecord(int64(i), rec[:0])
		return rec, err
	}, int(r.Len()), nil
}
