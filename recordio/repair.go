package recordio

import "io"

// Truncater is a file that can be read and truncated, such as *os.File.
type Truncater interface {
	io.ReaderAt
	Truncate(size int64) error
}

// Repair truncates a torn chunk at the end of f, so that a Writer can continue at Tail.End. If
// there is other damage it returns an error and changes nothing; see FindTail.
func Repair(f Truncater, size int64, opts ScanOptions) (Tail, error) {
	tail, err := FindTail(f, size, opts)
	if err != nil || tail.Torn == 0 {
		return tail, err
	}
	if err := f.Truncate(tail.End); err != nil {
		return tail, plain(opts.Path, IO, err)
	}
	return tail, nil
}
