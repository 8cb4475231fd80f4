package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Tail says where a file's last whole chunk ends.
type Tail struct {
	End     int64 // where to go on writing
	Torn    int64 // bytes behind it: a chunk that was not written to its end
	Chunks  int64 // before End, those without records too
	Records int64 // in them, as their headers say
}

// FindTail walks the headers of the size bytes of r, decodes the last chunk, and
// finds where a writer that died left off. Of opts it uses Path and MaxChunkBytes.
// A last chunk that is not whole is torn, whatever made it so: Policy Salvage may
// still find records in it. An error of another kind than IO says that the damage
// is not at the end only, or that what is there is no file that a Writer goes on with.
func FindTail(r io.ReaderAt, size int64, opts ScanOptions) (Tail, error) {
	if err := opts.check(); err != nil {
		return Tail{}, err
	}
	tail, err := findTail(r, size, opts)
	return tail, withPath(err, opts.Path)
}

func findTail(r io.ReaderAt, size int64, opts ScanOptions) (Tail, error) {
	d, err := tell(r, size, opts.MaxChunkBytes)
	switch {
	case err != nil:
		d = Go // if the first chunk is not even that, it is torn
	case d == Fluid || d == Pyrecordio:
		return Tail{}, plain("", Unsupported, fmt.Errorf("a file of dialect %v cannot be gone on with", d))
	}
	tail, last, torn := walkTail(r, size, opts.MaxChunkBytes, d)
	if torn == nil && tail.Chunks > 0 {
		if torn = lastChunk(r, size, last.End, opts, d); torn != nil {
			tail = last
		}
	}
	tail.Torn = size - tail.End
	if torn == nil || mayCut(r, tail, torn) && !wholeBehind(r, size, tail.End, opts) {
		return tail, nil
	}
	return tail, torn
}

// mayCut reports whether the error is one that a torn chunk makes. What does not
// even begin as a chunk is not the beginning of a file of records.
func mayCut(r io.ReaderAt, tail Tail, torn error) bool {
	var e *Error
	if !errors.As(torn, &e) || e.Kind != Truncated && e.Kind != Checksum && e.Kind != Malformed {
		return false
	}
	var b [4]byte
	n := min(int64(len(b)), tail.Torn)
	return tail.Chunks > 0 || readFullAt(r, b[:n], 0) == nil && bytes.HasPrefix(magicBytes, b[:n])
}

// walkTail follows the headers as far as they lead. last is what is before the last
// chunk.
func walkTail(r io.ReaderAt, size, limit int64, d Dialect) (tail, last Tail, err error) {
	w := heads{r: r, size: size, limit: limit, dialect: d}
	for {
		h, _, err := w.next()
		if errors.Is(err, io.EOF) {
			return tail, last, nil
		}
		if err != nil {
			return tail, last, err
		}
		last = tail
		tail.End, tail.Chunks, tail.Records = w.off, w.num, tail.Records+int64(h.n)
	}
}

// lastChunk verifies the chunk at off, which reaches to the end of the file.
func lastChunk(r io.ReaderAt, size, off int64, opts ScanOptions, d Dialect) error {
	part := ScanOptions{Path: opts.Path, Offset: off, MaxChunkBytes: opts.MaxChunkBytes}
	s := newScanner(io.NewSectionReader(r, off, size-off), part, d, false)
	defer s.Close()
	for s.nextChunk() {
	}
	return s.err
}

// wholeBehind reports whether a whole chunk is behind off, or that cannot be known.
func wholeBehind(r io.ReaderAt, size, off int64, opts ScanOptions) bool {
	f := framer{win: window{r: io.NewSectionReader(r, off, size-off), off: off}, limit: opts.MaxChunkBytes, budget: 4 * opts.MaxChunkBytes}
	_, _, found := f.seek()
	return found || !errors.Is(f.win.err, io.EOF)
}

// Truncater is a file that can be read and cut, such as *os.File.
type Truncater interface {
	io.ReaderAt
	Truncate(size int64) error
}

// Repair cuts a torn chunk off the end of f, so that a Writer can go on at
// Tail.End. It changes nothing if there is other damage, which is an error; see
// FindTail.
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
