// Package pace sets deadlines for HTTP clients that make no progress.
package pace

import (
	"net/http"
	"time"
)

const (
	// Stall is how long a client may make no progress before its request is aborted.
	// Clients wait longer for an answer, so that the slot is free when they retry.
	Stall = 30 * time.Second

	// Slowest is the least average rate, in bytes a second, of a body or an answer. It
	// applies after the time of one stall, so that a byte now and then does not keep a
	// request alive.
	Slowest = 16 << 10
)

// Begin begins a request. A body that the handler does not read gets half of a stall, because net/http reads it before
// it sends the answer, which has the time of a stall. The handler gets a copy of r, whose body it may replace.
func Begin(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(Stall / 2)) // until a Pace sets another
	}
	return r.WithContext(r.Context())
}

// Linger gives the unread rest of a body a second.
func Linger(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
}

// Pace sets deadlines for a peer that makes no progress.
type Pace struct {
	set func(time.Time) error // a deadline
	end time.Time             // when all must be over
}

// OfBody returns the pace for reading a body of size bytes.
func OfBody(w http.ResponseWriter, size int64) Pace {
	return Pace{http.NewResponseController(w).SetReadDeadline, endOf(size)}
}

// OfAnswer returns the pace for writing an answer of size bytes.
func OfAnswer(w http.ResponseWriter, size int64) Pace {
	return Pace{http.NewResponseController(w).SetWriteDeadline, endOf(size)}
}

// endOf returns when size bytes that start now must have moved.
func endOf(size int64) time.Time { return time.Now().Add(Stall + timeFor(size)) }

func timeFor(size int64) time.Duration { return time.Duration(size) * time.Second / Slowest }

// More gives the peer time for n bytes that size did not count.
func (p *Pace) More(n int) { p.end = p.end.Add(timeFor(int64(n))) }

// Next gives the peer time for one more buffer.
func (p Pace) Next() {
	at := time.Now().Add(Stall)
	if at.After(p.end) {
		at = p.end
	}
	_ = p.set(at)
}

// Wait calls do and does not count its time as the peer's. A nil Pace only calls it.
func (p *Pace) Wait(do func() error) error {
	if p == nil {
		return do()
	}
	began := time.Now()
	err := do()
	p.end = p.end.Add(time.Since(began))
	p.Next()
	return err
}

// Done removes the deadline after the whole body. net/http continues to read, to notice that the
// client left, and would take an expired deadline for that.
func (p Pace) Done() { _ = p.set(time.Time{}) }
