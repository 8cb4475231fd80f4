package shard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// File is one file of a dataset. Records and Bytes may be 0 if they are not needed.
type File struct {
	Name    string `json:"name"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"` // of the file
}

// Names returns the names of files, in order.
func Names(files []File) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return names
}

// sorted returns a copy of files in lexicographic order of the bytes of their names, the order of
// Python's sort for str. The error is ErrFile or ErrDuplicate.
func sorted(files []File) ([]File, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	var records, bytes int64
	for i, f := range files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		if i > 0 && files[i-1].Name == f.Name {
			return nil, &SetError{Duplicate: []string{f.Name}}
		}
		if f.Records < 0 || f.Bytes < 0 || f.Records > math.MaxInt64-records || f.Bytes > math.MaxInt64-bytes {
			return nil, fmt.Errorf("%w: %s: %d records and %d bytes are impossible", ErrFile, f.Name, f.Records, f.Bytes)
		}
		records, bytes = records+f.Records, bytes+f.Bytes
	}
	return files, nil
}

// checkName refuses names that a list with one name a line cannot hold.
func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, "\n\r\x00") {
		return fmt.Errorf("%w: the name %q is empty or has a line break", ErrFile, name)
	}
	return nil
}
