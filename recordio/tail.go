package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Tail describes the end of a file.
type Tail struct {
	End     int64 // end of the last intact chunk; writing can continue here
	Torn    int64 // bytes after End: an incomplete chunk
	Chunks  int64 // before End, including those without records
	Records int64 // in these chunks, according to their headers
}

// FindTail walks the headers of the size bytes of r, decodes the last chunk, and finds where an
// interrupted writer stopped. It uses Path and MaxChunkBytes of opts. Torn counts only what such a
// writer leaves: the beginning of an incomplete chunk, or zeros. An error of a Kind other than IO
// means that the file has other damage, in particular a damaged but complete chunk (Policy Salvage
// finds what can be read), or is not a file that a Writer can continue.
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
		d = Go // if the first chunk is incomplete, the file is torn
	case d == Fluid || d == Pyrecordio:
		return Tail{}, plain("", Unsupported, fmt.Errorf("cannot append to a file of dialect %v", d))
	}
	tail, last, broken := walkTail(r, size, opts.MaxChunkBytes, d)
	tail.Torn = size - tail.End
	if broken == nil {
		return tail, edited(lastChunk(r, size, last, opts, d), func(e *Error) { e.Chunk = tail.Chunks - 1 })
	}
	torn, err := isTorn(r, size, tail, broken)
	if err != nil || torn && !wholeBehind(r, size, tail.End, opts) {
		return tail, err
	}
	return tail, broken
}

// isTorn reports whether the bytes behind tail.End, whose error is broken, are what an interrupted
// writer leaves: zeros from the file system, or the beginning of a chunk. A file of zeros alone is
// not a RecordIO file.
func isTorn(r io.ReaderAt, size int64, tail Tail, broken error) (bool, error) {
	var b [headerSize]byte
	n := min(headerSize, tail.Torn)
	if err := readFullAt(r, b[:n], tail.End); err != nil {
		return false, err
	}
	if begun := min(n, int64(len(magicBytes))); bytes.HasPrefix(magicBytes, b[:begun]) {
		return isBegun(r, size, tail, b, broken)
	}
	if tail.Chunks == 0 || !errors.Is(broken, Malformed) && !errors.Is(broken, Truncated) {
		return false, nil
	}
	return onlyZeros(io.NewSectionReader(r, tail.End, tail.Torn))
}

// isBegun reports whether the bytes behind tail.End, which begin with head, are an incomplete
// chunk. If the checksum is correct, the chunk is complete and its length is wrong.
func isBegun(r io.ReaderAt, size int64, tail Tail, head [headerSize]byte, broken error) (bool, error) {
	if !errors.Is(broken, Truncated) || tail.Torn <= headerSize {
		return errors.Is(broken, Truncated), nil
	}
	sum := crc32.NewIEEE()
	from := tail.End + headerSize
	if _, err := io.Copy(sum, io.NewSectionReader(r, from, size-from)); err != nil {
		return false, plain("", IO, err)
	}
	return sum.Sum32() != parseHeader(head[:], Go).crc, nil
}

// onlyZeros reports whether r consists of zeros.
func onlyZeros(r io.Reader) (bool, error) {
	b := make([]byte, headWindow)
	for {
		n, err := r.Read(b)
		if len(bytes.Trim(b[:n], "\x00")) > 0 {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, plain("", IO, err)
		}
	}
}

// walkTail follows the headers as long as they are valid. last is the offset of the last of these
// chunks.
func walkTail(r io.ReaderAt, size, limit int64, d Dialect) (tail Tail, last int64, err error) {
	w := heads{r: r, size: size, limit: limit, dialect: d}
	for {
		h, at, err := w.next()
		if errors.Is(err, io.EOF) {
			return tail, last, nil
		}
		if err != nil {
			return tail, last, err
		}
		last = at
		tail.End, tail.Chunks, tail.Records = w.off, w.num, tail.Records+int64(h.n)
	}
}

// lastChunk verifies the chunk at off, which ends at the end of the file. A file without chunks
// passes.
func lastChunk(r io.ReaderAt, size, off int64, opts ScanOptions, d Dialect) error {
	part := ScanOptions{Path: opts.Path, Offset: off, MaxChunkBytes: opts.MaxChunkBytes}
	s := newScanner(io.NewSectionReader(r, off, size-off), part, d, false)
	defer s.Close()
	for s.nextChunk() {
	}
	return s.err
}

// wholeBehind reports whether an intact chunk follows off, or whether this cannot be determined.
func wholeBehind(r io.ReaderAt, size, off int64, opts ScanOptions) bool {
	f := framer{win: window{r: io.NewSectionReader(r, off, size-off), off: off}, limit: opts.MaxChunkBytes, budget: 4 * opts.MaxChunkBytes}
	_, _, found := f.seek()
	return found || !errors.Is(f.win.err, io.EOF)
}
