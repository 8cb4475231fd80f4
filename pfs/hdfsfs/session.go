package hdfsfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// session is a client of the library with all of its connections. One caller at a
// time uses it: the library serialises the calls of a client anyway, and so a call
// that takes no context can be ended by closing the connections that it waits on.
type session struct {
	cluster *cluster
	client  *hdfs.Client

	life context.Context // of dialling
	end  context.CancelFunc

	mu    sync.Mutex
	conns map[net.Conn]bool // all that are open; true for those to DataNodes
	to    string            // the NameNode
	since time.Time         // when it was dialled
	cause error             // why it was given up
	stale bool              // a connection to the NameNode failed
	sent  bool              // a request was sent since the last call began
	asks  bool              // the NameNode has a request that it has not answered
	sums  *sentSums         // of the file that is being written, if they are wanted
	built *pipelines        // of the file that is being written
	broke error             // why what was written to it is lost

	idle *time.Timer // while it is in the pool
}

// dial opens a session of the user.
func (c *cluster) dial(ctx context.Context, user string) (*session, error) {
	s := &session{cluster: c, conns: map[net.Conn]bool{}}
	s.life, s.end = context.WithCancel(context.Background())
	options := hdfs.ClientOptions{
		User:                user,
		Addresses:           c.nameNodes.Order(),
		UseDatanodeHostname: c.opts.DatanodeHostname,
		NamenodeDialFunc:    s.dialNameNode,
		DatanodeDialFunc:    s.dialDataNode,
	}
	if err := c.authenticate(ctx, &options); err != nil {
		s.end()
		return nil, err
	}
	err := s.do(ctx, c.opts.Timeout, func() (err error) {
		s.client, err = hdfs.NewClient(options)
		return err
	})
	if err != nil {
		s.close()
		return nil, c.refused(s, err)
	}
	return s, nil
}

// do calls the library, which takes no context: the call ends when ctx is done, or
// when limit has passed, by losing its connections.
func (s *session) do(ctx context.Context, limit time.Duration, call func() error) error {
	s.mu.Lock()
	s.sent = false
	s.mu.Unlock()
	over := false // guarded by s.mu; then the session may be somebody else's
	timer := time.AfterFunc(limit, func() {
		s.abortUnless(&over, &noAnswer{"HDFS gave no answer within " + limit.String(), s.isAsking()})
	})
	stop := context.AfterFunc(ctx, func() { s.abortUnless(&over, context.Cause(ctx)) })
	err := call()
	timer.Stop()
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	over = true
	if err == nil {
		return nil
	}
	if s.cause != nil {
		return s.cause
	}
	// The library lets NameNodes that failed rest for five seconds, all of them if
	// need be; a new client asks at once.
	s.stale = s.stale || is(err, pfs.Unavailable)
	return err
}

// abort gives the session up.
func (s *session) abort(cause error) { s.abortUnless(new(bool), cause) }

// abortUnless is abort, unless over is set, which s.mu guards.
func (s *session) abortUnless(over *bool, cause error) {
	s.mu.Lock()
	late := *over
	if !late && s.cause == nil {
		s.cause = cause
	}
	s.mu.Unlock()
	if !late {
		s.cut()
	}
}

// cut closes all connections, and lets none be opened.
func (s *session) cut() {
	s.end()
	s.closeConns(func(bool) bool { return true })
}

// closeData closes the connections to DataNodes, some of which the library forgets.
func (s *session) closeData() { s.closeConns(func(data bool) bool { return data }) }

// closeConns closes the connections that which chooses.
func (s *session) closeConns(which func(data bool) bool) {
	s.mu.Lock()
	var conns []net.Conn
	for c, data := range s.conns {
		if which(data) {
			conns = append(conns, c)
			delete(s.conns, c)
		}
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

// close ends the session for good. The NameNode is not to blame for what then fails.
func (s *session) close() {
	s.abort(net.ErrClosed)
	if s.client != nil {
		// It waits for the call that renews leases, which has just lost its
		// connection.
		go s.client.Close()
	}
}

// usable reports whether another call may be made.
func (s *session) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause == nil && !s.stale && !s.cluster.nameNodes.FailedSince(s.to, s.since)
}

// wasSent reports whether the last call sent anything: if so, and it failed, it
// is not known whether it was carried out.
func (s *session) wasSent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// isAsking reports whether the NameNode has a request that it has not answered.
func (s *session) isAsking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// setPipes says which pipelines are those of the file that is being written.
func (s *session) setPipes(w *pipelines) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built, s.broke = w, nil
}

// breakOff notes that a packet of the file that is being written could not be sent. The
// library is not told: it would give up and leave two goroutines behind. It learns that
// from the acknowledgements, when it closes the block.
func (s *session) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broke == nil {
		s.broke = err
	}
}

// broken is why what was written is lost; nil if that is not known.
func (s *session) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broke
}

// pipes returns what setPipes was given; nil if nothing is written.
func (s *session) pipes() *pipelines {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.built
}

// noteUnreachable takes a DataNode that could not be dialled out of the pipelines.
func (s *session) noteUnreachable(address string, err error) {
	w := s.pipes()
	if w == nil || s.life.Err() != nil {
		return
	}
	w.blame(address)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		s.cluster.dataNodes.noteSilent(address)
	}
}

// keep notes an open connection. One that comes too late is closed.
func (s *session) keep(c net.Conn, data bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life.Err(); err != nil {
		c.Close()
		return err
	}
	s.conns[c] = data
	return nil
}

func (s *session) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// dialNameNode connects to a NameNode for the library, whose context is empty.
func (s *session) dialNameNode(_ context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	s.to, s.since = address, time.Now()
	s.mu.Unlock()
	conn, err := s.dialer().DialContext(s.life, network, address)
	if err != nil && s.life.Err() == nil {
		s.cluster.nameNodes.NoteFailed(address)
	}
	if err != nil {
		return nil, err
	}
	return &nameConn{Conn: conn, s: s, address: address}, s.keep(conn, false)
}

func (s *session) dialer() *net.Dialer {
	return &net.Dialer{Timeout: s.cluster.opts.Timeout / 2}
}

// nameConn is a connection to a NameNode. It notices what the library does not tell.
type nameConn struct {
	net.Conn
	s       *session
	address string
}

func (c *nameConn) Write(p []byte) (int, error) {
	if err := c.s.life.Err(); err != nil {
		return 0, err // the NameNode has nothing to do with it
	}
	c.s.mu.Lock()
	c.s.sent, c.s.asks = true, true
	c.s.mu.Unlock()
	if _, err := c.Conn.Write(p); err != nil {
		c.hearWhy()
		c.failed(err)
		return 0, err
	}
	return len(p), nil
}

// hearWhy gives the session up for what a NameNode said before it ended the connection. One
// that asks for a ticket says so as soon as it sees that there is none, and ends; the
// library, which still has requests to send then, fails without reading that.
func (c *nameConn) hearWhy() {
	if c.s.cluster.opts.Kerberos != nil {
		return
	}
	_ = c.Conn.SetReadDeadline(time.Now().Add(time.Second)) // it has come already
	words, _ := io.ReadAll(io.LimitReader(c.Conn, 4<<10))
	if bytes.Contains(words, []byte("SIMPLE authentication is not enabled")) {
		c.s.abort(noTicket("hdfsfs.dial"))
	}
}

func (c *nameConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.s.mu.Lock()
		c.s.asks = false
		c.s.mu.Unlock()
	}
	c.failed(err)
	return n, err
}

// failed marks the session as one that must not be used again: the library would go
// on with a connection that has lost its place.
func (c *nameConn) failed(err error) {
	if err == nil {
		return
	}
	c.s.mu.Lock()
	c.s.stale = true
	cause := c.s.cause
	c.s.mu.Unlock()
	var late *noAnswer
	if cause == nil || errors.As(cause, &late) { // and not because the caller gave up
		c.s.cluster.nameNodes.NoteFailed(c.address)
	}
}

func (c *nameConn) Close() error {
	c.s.forget(c.Conn)
	return c.Conn.Close()
}
