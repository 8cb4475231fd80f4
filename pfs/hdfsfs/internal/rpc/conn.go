package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

const (
	// idleTime is how long a connection without calls is kept.
	idleTime = 20 * time.Second
	// maxQueued is the number of calls that wait to be sent. Further callers wait for a place.
	maxQueued = 64
	// maxJoined is the number of bytes from which on messages are not sent together.
	maxJoined = 64 << 10
	// lastWords bounds the wait for the reason for the end of a connection.
	lastWords = time.Second
)

var (
	errIdle   = errors.New("the connection was idle")
	errClosed = errors.New("the client is closed")
)

// conn is a connection to a NameNode that many calls share.
type conn struct {
	server string
	stream *stream
	limit  time.Duration      // of a call
	left   func(*conn, error) // is called when the connection takes no more calls, and why
	queue  chan *call
	over   chan struct{} // closed at the end, when err is set
	heard  atomic.Int64  // when a response came last, as nanoseconds since born
	born   time.Time

	mu      sync.Mutex
	err     error
	retired bool // it takes no more calls, and ends with the last one
	calls   map[int32]*call
	highest int32 // of the numbers that were sent
	idle    *time.Timer
}

// call is one message to a NameNode, and the answer.
type call struct {
	method string
	id     int32
	frame  []byte
	state  atomic.Int32
	answer chan answer // has room for one
}

// The states of a call. One that was abandoned before it was sent is never sent.
const (
	waiting int32 = iota
	sent
	abandoned
)

type answer struct {
	body []byte
	err  error
}

// newConn serves an authenticated connection.
func newConn(server string, s *stream, limit time.Duration, left func(*conn, error)) *conn {
	c := &conn{server: server, stream: s, limit: limit, left: left, queue: make(chan *call, maxQueued), over: make(chan struct{}),
		born: time.Now(), calls: map[int32]*call{}}
	c.idle = time.AfterFunc(idleTime, c.expire)
	for _, run := range []func() error{c.write, c.read} {
		go func() { c.end(pfs.Guard("rpc.Call", "", run)) }()
	}
	return c
}

// do makes a call. wasSent reports whether the NameNode may have received it.
func (c *conn) do(ctx context.Context, k *call) (body []byte, wasSent bool, err error) {
	if err := c.register(k); err != nil {
		return nil, false, err
	}
	defer c.unregister(k)
	began := time.Since(c.born)
	timer := time.NewTimer(c.limit)
	defer timer.Stop()
	queue := c.queue
	for {
		select {
		case queue <- k:
			queue = nil
			continue
		case a := <-k.answer:
			return a.body, true, a.err
		case <-c.over:
			select {
			case a := <-k.answer:
				return a.body, true, a.err
			default:
				err = c.err
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C:
			err = c.noAnswer(began)
		}
		return nil, !k.state.CompareAndSwap(waiting, abandoned), err
	}
}

// noAnswer returns the error of a call that began then. If the NameNode answered nothing since, no further
// call is made on the connection.
func (c *conn) noAnswer(began time.Duration) *NoAnswer {
	alive := time.Duration(c.heard.Load()) > began
	err := &NoAnswer{Server: c.server, Limit: c.limit, alive: alive}
	if !alive {
		c.retire(err)
	}
	return err
}

// register makes the connection expect the answer to a call.
func (c *conn) register(k *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.retired {
		return errIdle
	}
	c.idle.Stop()
	c.calls[k.id] = k
	return nil
}

// unregister ends the expectation. A late answer is ignored.
func (c *conn) unregister(k *call) {
	c.mu.Lock()
	delete(c.calls, k.id)
	last := len(c.calls) == 0
	if last {
		c.idle.Reset(idleTime)
	}
	finish := last && c.retired
	c.mu.Unlock()
	if finish {
		c.end(errIdle)
	}
}

// retire lets the calls in progress end, and refuses others.
func (c *conn) retire(why error) {
	c.mu.Lock()
	first := !c.retired
	c.retired = true
	finish := len(c.calls) == 0
	c.mu.Unlock()
	if first {
		c.left(c, why)
	}
	if finish {
		c.end(errIdle)
	}
}

// expire ends a connection without calls.
func (c *conn) expire() {
	c.mu.Lock()
	busy := len(c.calls) > 0
	c.mu.Unlock()
	if !busy {
		c.retire(errIdle)
	}
}

// end closes the connection and ends its calls with err. Only the first end counts.
func (c *conn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.idle.Stop()
	first := !c.retired
	c.retired = true
	c.mu.Unlock()
	if first {
		c.left(c, err) // before the callers go on
	}
	close(c.over)
	c.stream.Close()
}

// write sends calls until the connection ends. It sends waiting calls together.
func (c *conn) write() error {
	var out []byte
	for {
		out = out[:0]
		select {
		case k := <-c.queue:
			out = c.take(out, k)
		case <-c.over:
			return nil
		}
		for more := true; more && len(out) < maxJoined; {
			select {
			case k := <-c.queue:
				out = c.take(out, k)
			default:
				more = false
			}
		}
		if len(out) == 0 {
			continue
		}
		err := c.stream.SetWriteDeadline(time.Now().Add(c.limit))
		if err == nil {
			_, err = c.stream.Write(out)
		}
		if err != nil {
			// A NameNode that ends a connection says why, and the reader returns that.
			_ = c.stream.SetReadDeadline(time.Now().Add(lastWords))
			select {
			case <-c.over:
			case <-time.After(2 * lastWords):
			}
			return err
		}
		if cap(out) > 4*maxJoined {
			out = nil
		}
	}
}

// take appends the message of a call, unless it was abandoned.
func (c *conn) take(out []byte, k *call) []byte {
	if !k.state.CompareAndSwap(waiting, sent) {
		return out
	}
	c.mu.Lock()
	c.highest = max(c.highest, k.id)
	c.mu.Unlock()
	return append(out, k.frame...)
}

// read hands out responses until the connection ends.
func (c *conn) read() error {
	for {
		frame, err := readFrame(c.stream)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it closed the connection")
			}
			return err
		}
		c.heard.Store(int64(time.Since(c.born)))
		h, body, err := parseResponse(frame)
		if err != nil {
			return err
		}
		if err := c.deliver(int32(h.GetCallId()), h, body); err != nil {
			return err
		}
	}
}

// deliver gives a response to the call that waits for it. An error ends the connection.
func (c *conn) deliver(id int32, h *hdfsproto.ResponseHeader, body []byte) error {
	c.mu.Lock()
	k, known := c.calls[id], id <= c.highest
	delete(c.calls, id) // another answer to the same call is ignored
	c.mu.Unlock()
	if known && id >= 0 && h.GetStatus() == hdfsproto.ResponseHeader_SUCCESS {
		if k != nil { // otherwise its caller has gone
			k.answer <- answer{body: body}
		}
		return nil
	}
	remote := &RemoteError{Method: "connect", Class: h.GetException(), Text: h.GetMessage()}
	switch {
	case id < 0 && h.GetStatus() != hdfsproto.ResponseHeader_SUCCESS:
		return remote // it refuses the whole connection
	case id < 0 || !known:
		return fmt.Errorf("it answered call %d, which was not made", id)
	case k != nil:
		remote.Method = k.method
		k.answer <- answer{err: remote}
	}
	if h.GetStatus() == hdfsproto.ResponseHeader_FATAL {
		return errors.New("it gave up the connection: " + remote.Error())
	}
	return nil
}

// newCall returns a call that was not made yet.
func newCall(method string, id int32, frame []byte) *call {
	return &call{method: method, id: id, frame: frame, answer: make(chan answer, 1)}
}
