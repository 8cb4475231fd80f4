package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
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
// Torn is only what such a writer leaves: the beginning of a chunk of which the rest
// is missing, or zeros. An error of another kind than IO says that something else is
// damaged, a chunk that is there to its end above all: Policy Salvage finds what can
// be read. Or what is there is no file that a Writer goes on with.
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
	tail, last, broken := walkTail(r, size, opts.MaxChunkBytes, d)
	tail.Torn = size - tail.End
	if broken == nil {
		return tail, numbered(lastChunk(r, size, last, opts, d), tail.Chunks-1)
	}
	torn, err := isTorn(r, size, tail, broken)
	if err != nil || torn && !wholeBehind(r, size, tail.End, opts) {
		return tail, err
	}
	return tail, broken
}

// isTorn reports whether what is behind tail.End, of which broken says what is wrong,
// is something that a writer that died leaves behind: zeros that the file system put
// there, or the beginning of a chunk. Zeros alone are not a file of records.
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

// isBegun reports whether the bytes behind tail.End, which begin with head, are a
// chunk that was not written to its end. It is one that is there to its end if its
// checksum is right: then its length is wrong.
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

// onlyZeros reports whether r has no other bytes than zeros.
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

// walkTail follows the headers as far as they lead. last is where the last of these
// chunks begins.
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

// lastChunk verifies the chunk at off, which reaches to the end of the file. A file
// without chunks passes.
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
