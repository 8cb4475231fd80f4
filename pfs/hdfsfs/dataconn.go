package hdfsfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// Requests to a DataNode begin with the version of the protocol and an operation;
// the greeting of a SASL handshake begins with a number of its own.
const (
	transferVersion = 28
	opWriteBlock    = 80
	opChecksum      = 85
)

var saslGreeting = [4]byte{0xde, 0xad, 0xbe, 0xef}

// errUnverified says that bytes are exchanged in a way that hides them from the check.
var errUnverified = errors.New("the DataNode wants its data encrypted or signed as a whole (dfs.data.transfer.protection): what is written could not be verified")

// dataConn is a connection of the library to a DataNode, on which it writes a block or asks for its checksum.
type dataConn struct {
	net.Conn
	s        *session
	dataNode string

	phase phase
	lost  error         // why it is not connected
	write *writeRequest // that was sent
	flow  *blockFlow    // of it, once it was granted
	ready []byte        // received and not yet delivered
}

// phase is what is going on on a connection.
type phase uint8

const (
	greeting phase = iota // until a request was sent; a SASL handshake perhaps
	passing               // checksums: the bytes are the library's
	building              // a write was asked for
	sending               // it was granted
)

// dialDataNode connects to a DataNode for the library, whose context is empty. If that
// fails while a file is written, a pipeline may begin with another one: see build.
func (s *session) dialDataNode(_ context.Context, network, address string) (net.Conn, error) {
	c := &dataConn{s: s, dataNode: address}
	w := s.pipes()
	err := error(&nodeError{address, errAvoided})
	if w == nil || !w.avoids(address) {
		err = c.dial(network, address)
	}
	if err == nil {
		return c, nil
	}
	if w == nil || s.life.Err() != nil {
		return nil, err
	}
	var other net.Conn
	c.Conn, other = net.Pipe()
	other.Close()
	c.lost = err
	return c, s.keep(c.Conn, true)
}

// dial connects to a DataNode.
func (c *dataConn) dial(network, address string) error {
	conn, err := c.s.dialer().DialContext(c.s.life, network, address)
	if err != nil {
		c.s.noteUnreachable(address, err)
		return &nodeError{address, err}
	}
	c.Conn, c.dataNode = conn, address
	return c.s.keep(conn, true)
}

// SetDeadline is the library's: session.do keeps deadlines.
func (c *dataConn) SetDeadline(time.Time) error { return nil }

func (c *dataConn) Close() error {
	c.s.forget(c.Conn)
	if c.flow != nil {
		c.flow.close()
	}
	return c.Conn.Close()
}

// Write passes a request, or a packet, on. The library writes each whole.
func (c *dataConn) Write(p []byte) (int, error) {
	sent := p
	switch c.phase {
	case passing:
	case sending:
		// The library ends its goroutines only after it has written all: see breakOff.
		c.s.noteSent(p)
		if err := c.flow.send(p); err != nil {
			c.s.breakOff(&nodeError{c.dataNode, err})
		}
		return len(p), nil
	default:
		var err error
		if sent, err = c.request(p); err != nil {
			c.Close()
			return 0, err
		}
	}
	if _, err := c.Conn.Write(sent); err != nil {
		return 0, &nodeError{c.dataNode, err}
	}
	return len(p), nil
}

// request looks at what the library asks for, and returns what is sent for it. What it
// does not know it refuses, so that no answer gets around the check.
func (c *dataConn) request(p []byte) ([]byte, error) {
	write := len(p) > 3 && c.phase == greeting && [3]byte(p) == [3]byte{0, transferVersion, opWriteBlock}
	switch {
	case write:
		return c.build(p[3:])
	case c.lost != nil:
		return nil, c.lost
	case c.phase != greeting || len(p) < 4:
		return nil, errUnverified
	case [4]byte(p) == saslGreeting:
		return p, nil
	case p[0] != 0: // a step of the handshake: a message of a length that is not 0
		return p, nil
	case p[1] != transferVersion:
		return nil, errUnverified // signed or encrypted: it begins with a length of four bytes
	}
	switch p[2] {
	case opChecksum:
		c.phase = passing
		return p, nil
	}
	return nil, errUnverified
}

// build asks for a pipeline of those DataNodes of a request to write that can be reached.
func (c *dataConn) build(p []byte) ([]byte, error) {
	q, err := parseWriteRequest(p, c.s.cluster.opts.DatanodeHostname)
	if err != nil {
		return nil, err
	}
	w := c.s.pipes()
	if w == nil {
		return nil, errUnverified
	}
	without, err := w.choose(c.dataNode, q)
	if err != nil {
		return nil, err
	}
	if without {
		if err := c.redirect(q); err != nil {
			return nil, err
		}
	}
	c.write, c.phase = q, building
	return q.encode(), nil
}

// redirect makes the first target the DataNode that is connected.
func (c *dataConn) redirect(q *writeRequest) error {
	c.s.forget(c.Conn)
	c.Conn.Close()
	first := q.targets[0].address
	q.targets = q.targets[1:]
	return c.dial("tcp", first)
}

// readBuilt takes what the first DataNode says of the pipeline.
func (c *dataConn) readBuilt() error {
	in := bufio.NewReader(c.Conn)
	raw, err := readMessage(in)
	if err != nil {
		return &nodeError{c.dataNode, err}
	}
	numeric, err := refusal(raw.body)
	if err == nil {
		c.ready, c.flow, c.phase = raw.all, newBlockFlow(c.Conn, in), sending
		return nil
	}
	bad := c.write.named(numeric)
	if bad == "" {
		return &nodeError{c.dataNode, err}
	}
	c.s.pipes().blame(bad)
	return &nodeError{bad, err}
}

// Read returns responses to the library.
func (c *dataConn) Read(p []byte) (int, error) {
	if c.phase == building {
		if err := c.readBuilt(); err != nil {
			return 0, err
		}
	}
	if c.phase == sending && len(c.ready) == 0 {
		ack, err := c.flow.next(c.s.life.Done())
		if err != nil {
			return 0, &nodeError{c.dataNode, err}
		}
		c.ready = ack
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		err = &nodeError{c.dataNode, err}
	}
	return n, err
}

// unexpected makes an end in the middle of something an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
