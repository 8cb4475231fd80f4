package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// job is a row, or one row for each of those who do it; the reference, if it is
// there, is the first of them.
type job struct {
	name   string
	by     []*library
	target float64 // times less processor time than the reference, where that is asked for
	// begin returns what is timed, and how many bytes or records a pass has.
	begin func(dir string, by *library) (pass func() error, size float64, err error)
}

// picked is how many records a pass reads at random.
const picked = 20

// jobs are those of the tables, in order.
func jobs() (copied, random, converted []job) {
	one, both := []*library{ours(1)}, []*library{ours(1), ours(2)}
	if r := reference(); r != nil {
		one, both = slices.Insert(one, 0, r), slices.Insert(both, 0, r)
	}
	copied = []job{
		{"read none", one, 6, reading(recordio.None)},
		{"read snappy", both, 2, reading(recordio.Snappy)},
		{"read gzip", both, 0, reading(recordio.Gzip)},
		{"write none", one, 2.2, writing(recordio.None, true)},
		{"write none, to nowhere", one, 0, writing(recordio.None, false)},
		{"write snappy", both, 1.4, writing(recordio.Snappy, true)},
	}
	random = []job{
		{"one record of snappy", one, 0, picking(recordio.Snappy)},
		{"one record of none", one, 0, picking(recordio.None)},
	}
	for _, t := range tableKinds {
		converted = append(converted, job{"convert " + t.name, []*library{ours(1)}, 0, converting(t.file)})
	}
	return copied, random, converted
}

func reading(c recordio.Compressor) func(string, *library) (func() error, float64, error) {
	return func(dir string, by *library) (func() error, float64, error) {
		path := filepath.Join(dir, c.String())
		return func() error {
			n, err := by.scan(path)
			if err == nil && n != textBytes {
				err = fmt.Errorf("%s read %d bytes of %d", by.name, n, textBytes)
			}
			return err
		}, textBytes, nil
	}
}

func writing(c recordio.Compressor, keep bool) func(string, *library) (func() error, float64, error) {
	return func(dir string, by *library) (func() error, float64, error) {
		text, err := mapped(filepath.Join(dir, "text"))
		if err != nil || !keep {
			return func() error { return by.write(io.Discard, text, c) }, textBytes, err
		}
		f, err := os.CreateTemp(fastDir(), "bench-data")
		if err != nil {
			return nil, 0, err
		}
		return func() error { // the process ends with the last pass, and the file with it
			if err := f.Truncate(0); err != nil {
				return err
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			return by.write(f, text, c)
		}, textBytes, os.Remove(f.Name())
	}
}

// mapped returns a file's bytes outside of the heap, whose size sets the pace of the
// garbage collector.
func mapped(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return syscall.Mmap(int(f.Fd()), 0, textBytes, syscall.PROT_READ, syscall.MAP_SHARED)
}

func picking(c recordio.Compressor) func(string, *library) (func() error, float64, error) {
	return func(dir string, by *library) (func() error, float64, error) {
		get, n, err := by.pick(filepath.Join(dir, c.String()))
		rnd := rand.New(rand.NewPCG(1, 1))
		return func() error {
			for range picked {
				if rec, err := get(rnd.IntN(n)); err != nil || len(rec) != recordBytes {
					return fmt.Errorf("%s: a record of %d bytes, error %v", by.name, len(rec), err)
				}
			}
			return nil
		}, picked, err
	}
}

func converting(file string) func(string, *library) (func() error, float64, error) {
	return func(dir string, _ *library) (func() error, float64, error) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		return func() error {
			_, err := convert.Run(context.Background(), source(file, data), convert.Options{Jobs: 1}, func([]byte) error { return nil })
			return err
		}, float64(len(data)), err
	}
}

func source(name string, data []byte) iter.Seq2[convert.Source, error] {
	return func(yield func(convert.Source, error) bool) {
		yield(convert.Source{Name: name, Open: func(context.Context) (convert.Content, error) {
			return convert.Content{Reader: bytes.NewReader(data), Size: int64(len(data))}, nil
		}}, nil)
	}
}

// find returns the job of a name.
func find(name string) (job, error) {
	copied, random, converted := jobs()
	for _, j := range slices.Concat(copied, random, converted) {
		if strings.EqualFold(j.name, name) {
			return j, nil
		}
	}
	return job{}, fmt.Errorf("no row %q", name)
}
