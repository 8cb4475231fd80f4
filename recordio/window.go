package recordio

import (
	"io"
)

const (
	readAhead   = 64 << 10 // read at once where less is asked for
	maxNoBytes  = 100      // reads without bytes or error before giving up
	minDoubling = 1 << 20  // a buffer larger than this only doubles once it is full
	mostGrowth  = 32 << 20 // more than that is not taken for bytes that nothing announces
)

// window is a stream of which the next bytes can be looked at before they are
// taken. It reads no more ahead than it is asked for, or readAhead.
type window struct {
	r          io.Reader
	buf        []byte
	start, end int   // buf[start:end] is read and not discarded
	off        int64 // of buf[start] in the file
	err        error // of r, after buf[:end]; io.EOF at the end
	hint       int   // how much is going to be peeked at, step by step
}

// peek returns the next n bytes, fewer only where the stream ends or fails. They
// are valid until the next call of any method.
func (w *window) peek(n int) []byte {
	for w.end-w.start < n && w.err == nil {
		w.fill(n)
	}
	return w.buf[w.start:min(w.end, w.start+n)]
}

// buffered returns how many bytes can be had without reading.
func (w *window) buffered() int { return w.end - w.start }

// discard passes over n bytes that have been peeked at.
func (w *window) discard(n int) {
	w.start += n
	w.off += int64(n)
}

// take passes over the next n bytes, which must have been peeked at, and gives
// them away together with the whole of their buffer; spare takes its place.
func (w *window) take(n int, spare []byte) (given, buf []byte) {
	given, buf = w.buf[w.start:w.start+n:w.start+n], w.buf
	rest := w.buf[w.start+n : w.end]
	if cap(spare) < len(w.buf) {
		giveBuf(spare)
		if spare = takeBuf(len(w.buf)); spare == nil {
			spare = make([]byte, len(w.buf)) // the next chunk will hardly be shorter
		}
	}
	w.buf = spare[:cap(spare)]
	w.start, w.end = 0, copy(w.buf, rest)
	w.off += int64(n)
	return given, buf
}

// fill reads once, towards n bytes.
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

// room makes place for reading towards n bytes. What a file says about itself does
// not get more than twice what it has already delivered, and readAhead: a payload of a
// power of two has its header before it.
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
	if n > w.hint { // nobody knows how much more it becomes: a little at a time would copy all each time
		want = max(want, min(2*len(w.buf), len(w.buf)+mostGrowth))
	}
	grown := takeBuf(want)
	if grown == nil {
		grown = make([]byte, min(want, max(2*len(w.buf)+readAhead, minDoubling)))
	}
	w.end = copy(grown, w.buf[w.start:w.end])
	w.start, w.buf = 0, grown
}

// close gives up the memory of the window, and of all that was peeked at.
func (w *window) close() {
	giveBuf(w.buf)
	*w = window{off: w.off, err: io.ErrClosedPipe}
}
