package shard

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"sort"
)

// Dataset numbers the records of files through, from 0: those of the first file in
// lexicographic order, then those of the next. It is safe for concurrent use.
type Dataset struct {
	files  []File
	starts []int64 // of each file, and at last the number of all records
}

// NewDataset takes files with their numbers of records, in any order. The error is
// ErrFile or ErrDuplicate.
func NewDataset(files []File) (*Dataset, error) {
	files, err := sorted(files)
	if err != nil {
		return nil, err
	}
	d := &Dataset{files: files, starts: make([]int64, len(files)+1)}
	for i, f := range files {
		d.starts[i+1] = d.starts[i] + f.Records
	}
	return d, nil
}

// Files returns the files in their order; the caller must not change them.
func (d *Dataset) Files() []File { return d.files }

// Len returns the number of records.
func (d *Dataset) Len() int64 { return d.starts[len(d.files)] }

// Locate returns the file (an index into Files) of a record and its number there. It
// is ErrFile if there is no such record.
func (d *Dataset) Locate(record int64) (file int, number int64, err error) {
	if record < 0 || record >= d.Len() {
		return 0, 0, fmt.Errorf("%w: no record %d: the dataset has %d", ErrFile, record, d.Len())
	}
	file = d.find(record)
	return file, record - d.starts[file], nil
}

// find returns the file of a record that exists. Files without records are passed
// over.
func (d *Dataset) find(record int64) int {
	return sort.Search(len(d.files), func(i int) bool { return d.starts[i+1] > record })
}

// Fingerprint identifies the numbering of records, and of the blocks that are given
// (for Block; else none): 16 hexadecimal digits of FNV-1a over each file's name, a
// zero byte and its records in decimal with a line feed, then each block's records
// likewise. It tells another dataset from this one, not a forged one.
func (d *Dataset) Fingerprint(blocks []int64) string {
	h := fnv.New64a()
	for _, f := range d.files {
		_, _ = fmt.Fprintf(h, "%s\x00%d\n", f.Name, f.Records) // a hash.Hash never fails
	}
	for _, n := range blocks {
		_, _ = fmt.Fprintf(h, "%d\n", n)
	}
	return hex.EncodeToString(h.Sum(nil))
}
