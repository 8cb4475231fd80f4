package recordio

import (
	"io"
)

const (
	readAhead   = 64 << 10 // minimum size of a read
	maxNoBytes  = 100      // empty reads without an error before giving up
	minDoubling = 1 << 20  // a buffer larger than this doubles only when it is full
	mostGrowth  = 32 << 20 // maximum growth for bytes of unknown number
)

// window is a stream with lookahead. It reads only as far ahead as requested, or readAhead.
type window struct {
	r          io.Reader
	buf        []byte
	start, end int   // buf[start:end] has been read and not discarded
	off        int64 // of buf[start] in the file
	err        error // error of r after buf[:end]; io.EOF at the end
	hint       int   // how much the caller is going to peek at, in steps
}

// peek returns the next n bytes, or fewer if the stream ends or fails. They are valid until the
// next call of a method.
func (w *window) peek(n int) []byte {
	for w.end-w.start < n && w.err == nil {
		w.fill(n)
	}
	return w.buf[w.start:min(w.end, w.start+n)]
}

// buffered returns how many bytes are available without reading.
func (w *window) buffered() int { return w.end - w.start }

// discard skips n bytes that have been peeked at.
func (w *window) discard(n int) {
	w.start += n
	w.off += int64(n)
}

// take consumes the next n bytes, which must have been peeked at, and transfers ownership of the
// whole buffer that holds them to the caller; spare replaces it.
func (w *window) take(n int, spare []byte) (given, buf []byte) {
	given, buf = w.buf[w.start:w.start+n:w.start+n], w.buf
	rest := w.buf[w.start+n : w.end]
	if cap(spare) < len(w.buf) {
		giveBuf(spare)
		if spare = takeBuf(len(w.buf)); spare == nil {
			spare = make([]byte, len(w.buf)) // the next chunk is probably no shorter
		}
	}
	w.buf = spare[:cap(spare)]
	w.start, w.end = 0, copy(w.buf, rest)
	w.off += int64(n)
	return given, buf
}

// fill makes one read towards n bytes.
func (w *window) fill(n int) {
	w.room(n)
	target := min(len(w.buf), max(w.start+n, w.start+readAhead))
	for range maxNoBytes {
		k, err := w.r.Read(w.buf[w.end:target])
		w.end += k
		w.err = err
		if k > 0 || err != nil {
			return
		}
	}
	w.err = io.ErrNoProgress
}

// room makes space for reading towards n bytes. The space is at most twice the bytes that have
// already arrived, plus readAhead, whatever the file states; readAhead covers the header before a
// payload of a power of two.
func (w *window) room(n int) {
	if w.start == w.end {
		w.start, w.end = 0, 0
	}
	if w.start+n > len(w.buf) && w.start > 0 {
		w.end = copy(w.buf, w.buf[w.start:w.end])
		w.start = 0
	}
	if w.end < len(w.buf) {
		return
	}
	want := max(n, w.hint, readAhead)
	if n > w.hint { // the final size is unknown: small steps would copy everything each time
		want = max(want, min(2*len(w.buf), len(w.buf)+mostGrowth))
	}
	grown := takeBuf(want)
	if grown == nil {
		grown = make([]byte, min(want, max(2*len(w.buf)+readAhead, minDoubling)))
	}
	w.end = copy(grown, w.buf[w.start:w.end])
	w.start, w.buf = 0, grown
}

// close releases the memory of the window, which invalidates everything peeked at.
func (w *window) close() {
	giveBuf(w.buf)
	*w = window{off: w.off, err: io.ErrClosedPipe}
}
