package hdfsfs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
)

const (
	// maxReaders is the number of readers of all files that are kept open between reads.
	maxReaders = 64
	// maxOfFile is the number of them that one file keeps.
	maxOfFile = 8
)

// reader reads one file.
type reader struct {
	*datanode.Reader
	file  *file
	timer *time.Timer
}

// maxFollowing is the number of reads that wait for the one before them. More of them begin another row, so that
// several connections share the work if one is slow.
const maxFollowing = 8

// read is a ReadAt that is under way. One that begins where another ends follows it on the same connection: another
// connection would cost the DataNode more than the bytes, because it sends all of a block until the connection is closed.
type read struct {
	end   int64
	ahead int          // reads that it waits for
	next  *read        // that waits for it
	turn  chan *reader // receives the reader of the one before, or nil; nil if there is none
}

// enter begins a read of n bytes at off, which leave ends.
func (h *file) enter(off, n int64) *read {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &read{end: off + n}
	for _, before := range h.reads {
		if before.end == off && before.next == nil && before.ahead < maxFollowing {
			before.next, r.ahead, r.turn = r, before.ahead+1, make(chan *reader, 1)
			break
		}
	}
	h.reads = append(h.reads, r)
	return r
}

// await waits for the read before r, and returns its reader; nil if it has none. ok is false if ctx ended first: then r
// leaves by itself.
func (h *file) await(ctx context.Context, r *read) (with *reader, ok bool) {
	if r.turn == nil {
		return nil, true
	}
	select {
	case with = <-r.turn:
		return with, true
	case <-ctx.Done():
		go func() { h.leave(r, <-r.turn) }()
		return nil, false
	}
}

// leave ends r, and gives its reader to the read that follows, or keeps it for later.
func (h *file) leave(r *read, with *reader) {
	h.mu.Lock()
	h.reads = slices.DeleteFunc(h.reads, func(other *read) bool { return other == r })
	for f := r.next; f != nil; f = f.next {
		f.ahead--
	}
	h.mu.Unlock()
	switch {
	case r.next != nil:
		r.next.turn <- with
	case with != nil:
		h.fs.readers.put(with)
	}
}

// readers keeps idle readers.
type readers struct {
	mu     sync.Mutex
	all    []*reader // the most recently used is at the end
	closed bool
}

// take returns a reader of h, if one is kept: one that is at off if there is one.
func (rs *readers) take(h *file, off int64) *reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	best := -1
	for i, r := range rs.all {
		if r.file == h && (best < 0 || r.End() == off) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return rs.remove(best)
}

func (rs *readers) remove(i int) *reader {
	r := rs.all[i]
	r.timer.Stop()
	rs.all = append(rs.all[:i], rs.all[i+1:]...)
	return r
}

// idleTime is how long a reader is kept that is not used.
const idleTime = 20 * time.Second

// put keeps r for a while.
func (rs *readers) put(r *reader) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.file.mu.Lock()
	closed := r.file.closed
	r.file.mu.Unlock()
	if closed || rs.closed {
		r.Close()
		return
	}
	r.timer = time.AfterFunc(idleTime, func() { rs.expire(r) })
	rs.all = append(rs.all, r)
	rs.trim(r.file)
}

// trim closes the oldest readers of h, and of all files, beyond the limits.
func (rs *readers) trim(h *file) {
	first, count := -1, 0
	for i, r := range rs.all {
		if r.file == h {
			count++
			if first < 0 {
				first = i
			}
		}
	}
	switch {
	case count > maxOfFile:
		rs.remove(first).Close()
	case len(rs.all) > maxReaders:
		rs.remove(0).Close()
	}
}

func (rs *readers) expire(r *reader) {
	rs.closeIf(func(other *reader) bool { return other == r })
}

// drop closes the readers of h.
func (rs *readers) drop(h *file) {
	rs.closeIf(func(r *reader) bool { return r.file == h })
}

func (rs *readers) close() {
	rs.mu.Lock()
	rs.closed = true
	rs.mu.Unlock()
	rs.closeIf(func(*reader) bool { return true })
}

func (rs *readers) closeIf(which func(*reader) bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i := len(rs.all) - 1; i >= 0; i-- {
		if which(rs.all[i]) {
			rs.remove(i).Close()
		}
	}
}
