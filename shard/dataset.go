package shard

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"sort"
)

// Dataset numbers the records of its files consecutively from 0, in lexicographic order of the
// files. It is safe for concurrent use.
type Dataset struct {
	files  []File
	starts []int64 // of each file; the last element is the number of all records
}

// NewDataset makes a Dataset of files with their numbers of records, in any order. The error is
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

// Files returns the files in order; the caller must not change them.
func (d *Dataset) Files() []File { return d.files }

// Len returns the number of records.
func (d *Dataset) Len() int64 { return d.starts[len(d.files)] }

// Locate returns the file (an index into Files) of a record and its number there. It returns
// ErrFile if there is no such record.
func (d *Dataset) Locate(record int64) (file int, number int64, err error) {
	if record < 0 || record >= d.Len() {
		return 0, 0, fmt.Errorf("%w: no record %d: the dataset has %d", ErrFile, record, d.Len())
	}
	file = d.find(record)
	return file, record - d.starts[file], nil
}

// find returns the file of an existing record. It skips files without records.
func (d *Dataset) find(record int64) int {
	return sort.Search(len(d.files), func(i int) bool { return d.starts[i+1] > record })
}

// Fingerprint identifies the numbering of records, and of the given blocks (for Block; otherwise
// none): 16 hexadecimal digits of FNV-1a over each file's name, a zero byte and its records in
// decimal with a line feed, then each block's records likewise. It detects another dataset, but not
// a forged one.
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
