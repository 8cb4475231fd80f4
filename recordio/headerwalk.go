package recordio

import (
	"errors"
	"io"
)

// headWindow is the size of a read where chunks are small.
const headWindow = 32 << 10

// heads reads the headers of a file one after the other and skips the payloads.
type heads struct {
	r       io.ReaderAt
	size    int64 // of the file
	limit   int64
	dialect Dialect
	off     int64 // of the next header
	num     int64 // of its chunk

	buf   []byte // contents of the file at bufAt
	bufAt int64
	small bool // whether the last chunk was small
}

// next returns the next valid header, io.EOF at the end.
func (w *heads) next() (header, int64, error) {
	if w.off == w.size {
		return header{}, w.off, io.EOF
	}
	if w.size-w.off < headerSize {
		return header{}, w.off, fault(Truncated, "the last %d bytes are not a header", w.size-w.off).at("", w.off, w.num)
	}
	b, err := w.head()
	if err != nil {
		return header{}, w.off, err
	}
	h, flt := readHeader(b, w.dialect, w.limit)
	if flt != nil {
		return h, w.off, flt.at("", w.off, w.num)
	}
	there := w.size - w.off - headerSize
	if int64(h.size) > there {
		return h, w.off, fault(Truncated, "%d bytes of a payload of %d are there", there, h.size).at("", w.off, w.num)
	}
	at := w.off
	w.off += headerSize + int64(h.size)
	w.num++
	w.small = h.size < headWindow
	return h, at, nil
}

// head returns the bytes of the header at w.off.
func (w *heads) head() ([]byte, error) {
	from := w.off - w.bufAt
	if from >= 0 && from+headerSize <= int64(len(w.buf)) {
		return w.buf[from : from+headerSize], nil
	}
	n := int64(headerSize)
	if w.small {
		n = min(headWindow, w.size-w.off)
	}
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	w.buf, w.bufAt = w.buf[:n], w.off
	if err := readFullAt(w.r, w.buf, w.off); err != nil {
		w.buf = nil
		return nil, err
	}
	return w.buf[:headerSize], nil
}

// tell determines the dialect of a file: from the first header if it leads to a second one, or else
// by verifying the first chunk.
func tell(r io.ReaderAt, size, limit int64) (Dialect, error) {
	w := heads{r: r, size: size, limit: limit, dialect: Go}
	h, _, err := w.next()
	if errors.Is(err, io.EOF) {
		return Unknown, nil
	}
	if err == nil && (h.comp.known() || h.n == 0) && h.comp != Snappy {
		if _, _, err := w.next(); err == nil || errors.Is(err, io.EOF) {
			return Go, nil
		}
	}
	f := framer{win: window{r: io.NewSectionReader(r, 0, size)}, limit: limit}
	if err := f.next(&chunk{}); err != nil {
		return Unknown, err
	}
	return f.dialect, nil
}

// walkHeaders lists the chunks that hold records, from headers alone.
func walkHeaders(r io.ReaderAt, size, limit int64) (*Index, error) {
	d, err := tell(r, size, limit)
	if err != nil {
		return nil, err
	}
	x := &Index{size: size, dialect: d}
	w := heads{r: r, size: size, limit: limit, dialect: d}
	for {
		h, off, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return x, nil
		case err != nil:
			return nil, err
		case h.n > 0:
			x.add(ChunkInfo{Offset: off, Size: headerSize + int64(h.size), Records: int64(h.n), Compressor: h.comp, CRC: h.crc}, part{})
		}
		if x.records < 0 || x.records > 1<<60 {
			return nil, fault(Limit, "more than 2^60 records").at("", off, w.num)
		}
	}
}
