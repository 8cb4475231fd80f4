package pfs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Range is a part of a file that ReadRanges reads.
type Range struct {
	Path    Path
	Version string // the Info.Version that the file must have; "" accepts any
	Off     int64
	Data    []byte // filled; shortened if the file ends earlier
}

// RangeReader reads many ranges of many files for little more than the price of one. Like
// BatchReader it is for clients; a Layer is none.
type RangeReader interface {
	// ReadRanges fills the Data of each range. It returns one error a range, in order; nil
	// means that the range was read. A file that does not have the Version of the range, or
	// that is gone, answers Conflict. Ranges of one call with the same Path and Version are of
	// the same version of the file.
	ReadRanges(ctx context.Context, ranges []Range) []error
}

// ReadRanges reads the ranges, several at a time if fsys is not a RangeReader. It treats panics and
// unreachable files as ReadBatch does.
func ReadRanges(ctx context.Context, fsys FileSystem, ranges []Range) []error {
	const op = "pfs.ReadRanges"
	if c, ok := fsys.(RangeReader); ok {
		return c.ReadRanges(ctx, ranges)
	}
	// In this order, no more files than readers are open at a time.
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(compareRanges(ranges[a], ranges[b]), cmp.Compare(ranges[a].Off, ranges[b].Off))
	})
	files := make([]*rangeFile, len(ranges))
	for k, i := range order {
		if k > 0 && compareRanges(ranges[order[k-1]], ranges[i]) == 0 {
			files[i] = files[order[k-1]]
		} else {
			files[i] = &rangeFile{}
		}
		files[i].left.Add(1)
	}
	errs := make([]error, len(ranges))
	each(op, len(order), func(k int) Path { return ranges[order[k]].Path },
		func(k int) error { return files[order[k]].read(ctx, fsys, &ranges[order[k]]) },
		func(k int, err error) {
			errs[order[k]] = err
			files[order[k]].done()
		})
	return errs
}

// compareRanges orders ranges by their files.
func compareRanges(a, b Range) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version))
}

// rangeFile is a file with ranges to read. The first range opens it, the last one closes it.
type rangeFile struct {
	once sync.Once
	file File
	err  error
	left atomic.Int64 // ranges
}

func (f *rangeFile) read(ctx context.Context, fsys FileSystem, r *Range) error {
	const op = "pfs.ReadRanges"
	if err := CheckRange(op, r.Path, r.Off, len(r.Data)); err != nil {
		return err
	}
	f.once.Do(func() {
		f.err = Guard(op, r.Path, func() (err error) {
			f.file, err = OpenVersion(ctx, fsys, r.Path, r.Version)
			return err
		})
	})
	if f.err != nil {
		return f.err
	}
	r.Data = r.Data[:max(0, min(int64(len(r.Data)), f.file.Info().Size-r.Off))]
	return ReadFull(ctx, f.file, r.Data, r.Off)
}

// done ends the use of the file by one range.
func (f *rangeFile) done() {
	if f.left.Add(-1) == 0 && f.file != nil {
		f.file.Close() // only read from
	}
}

// OpenVersion opens a file that must have the version, which a reader has seen before; "" accepts
// any. If it has another one, or is gone, OpenVersion answers Conflict.
func OpenVersion(ctx context.Context, fsys FileSystem, name Path, version string) (File, error) {
	const op = "pfs.OpenVersion"
	f, err := fsys.Open(ctx, name)
	switch {
	case version != "" && errors.Is(err, NotExist):
		return nil, Errorf(op, name, Conflict, "the file was removed while it was read")
	case err != nil:
		return nil, err
	case version != "" && version != f.Info().Version:
		f.Close()
		return nil, Errorf(op, name, Conflict, "the file was replaced while it was read")
	}
	return f, nil
}
