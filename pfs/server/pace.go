package server

import (
	"net/http"
	"time"
)

const (
	// stall is how long a client may make no progress before its request is aborted.
	// Clients wait longer for an answer, so that the slot is free when they retry.
	stall = 30 * time.Second

	// slowest is the least average rate, in bytes a second, of a body or an answer. It
	// applies after the time of one stall, so that a byte now and then does not keep a
	// request alive.
	slowest = 16 << 10
)

// pace sets deadlines for a peer that makes no progress.
type pace struct {
	set func(time.Time) error // a deadline
	end time.Time             // when all must be over
}

// newPace returns the pace for reading a body of size bytes.
func newPace(w http.ResponseWriter, size int64) pace {
	return pace{http.NewResponseController(w).SetReadDeadline, endOf(size)}
}

// newAnswerPace returns the pace for writing an answer of size bytes.
func newAnswerPace(w http.ResponseWriter, size int64) pace {
	return pace{http.NewResponseController(w).SetWriteDeadline, endOf(size)}
}

// endOf returns when size bytes that start now must have moved.
func endOf(size int64) time.Time {
	return time.Now().Add(stall + time.Duration(size)*time.Second/slowest)
}

// next gives the peer time for one more buffer.
func (p pace) next() {
	at := time.Now().Add(stall)
	if at.After(p.end) {
		at = p.end
	}
	_ = p.set(at)
}

// wait calls do and does not count its time as the peer's.
func (p *pace) wait(do func() error) error {
	began := time.Now()
	err := do()
	p.end = p.end.Add(time.Since(began))
	p.next()
	return err
}

// done removes the deadline after the whole body. net/http continues to read, to notice that the
// client left, and would take an expired deadline for that.
func (p pace) done() { _ = p.set(time.Time{}) }
