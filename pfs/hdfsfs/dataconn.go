package hdfsfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Requests to a DataNode begin with the version of the protocol and an operation;
// the greeting of a SASL handshake begins with a number of its own.
const (
	transferVersion = 28
	opWriteBlock    = 80
	opReadBlock     = 81
	opChecksum      = 85
)

var saslGreeting = [4]byte{0xde, 0xad, 0xbe, 0xef}

var (
	// errUnverified says that bytes are exchanged in a way that hides them from the
	// check. Nothing is let through.
	errUnverified = errors.New("the DataNode wants its data encrypted or signed as a whole (dfs.data.transfer.protection): what is read could not be verified")
	// errDamaged says that a replica is not what was written.
	errDamaged = errors.New("the replica does not match its checksums")
)

// dataConn is a connection to a DataNode. Of the answer to a read it lets the library
// see only packets whose checksums were verified, each from its first byte on: the
// library delivers the bytes of a packet before it checks them. When a packet is
// wrong its Read fails with nothing of it delivered, and the library goes to the next
// replica at that very place.
type dataConn struct {
	net.Conn
	s        *session
	dataNode string
	timeout  time.Duration // between two packets of a read

	phase   phase
	lost    error         // why it is not connected
	write   *writeRequest // that was sent
	flow    *blockFlow    // of it, once it was granted
	in      *bufio.Reader // of a read
	block   blockRange
	sums    checksums
	ready   []byte // verified and not yet delivered
	large   []byte // buffer of a packet that in cannot hold
	failure error
}

// phase is what is going on on a connection.
type phase uint8

const (
	greeting phase = iota // until a request was sent; a SASL handshake perhaps
	passing               // checksums: the bytes are the library's
	building              // a write was asked for
	sending               // it was granted
	answer                // a read was asked for
	packets               // it was granted
)

// dialDataNode connects to a DataNode for the library, whose context is empty. If that
// fails while a file is written, a pipeline may begin with another one: see build.
func (s *session) dialDataNode(_ context.Context, network, address string) (net.Conn, error) {
	c := &dataConn{s: s, dataNode: address, timeout: s.cluster.opts.Timeout}
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
		c.s.lose(address)
		c.s.noteUnreachable(address, err)
		return &nodeError{address, err}
	}
	c.Conn, c.dataNode = conn, address
	return c.s.keep(conn, true)
}

// lose notes that a DataNode could not be read from.
func (s *session) lose(dataNode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.lost = append(s.found.lost, dataNode)
}

// damage notes a replica that is not what was written.
func (s *session) damage(r replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.damaged = append(s.found.damaged, r)
}

// SetDeadline is the library's: deadlines are kept by session.do and by Read.
func (c *dataConn) SetDeadline(time.Time) error { return nil }

// Close is called by the reader.
func (c *dataConn) Close() error {
	c.s.forget(c.Conn)
	if c.flow != nil {
		c.flow.close(net.ErrClosed)
	}
	if c.in != nil {
		c.ready = nil
		giveBuffer(c.in)
		c.in = nil
	}
	return c.Conn.Close()
}

// Write passes a request, or a packet, on. The library writes each whole.
func (c *dataConn) Write(p []byte) (int, error) {
	sent := p
	switch c.phase {
	case passing:
	case sending:
		c.s.noteSent(p)
		// What waits in the library for acknowledgements ends only behind the last packet, so
		// all are taken. attempt learns from the flow that it has failed.
		_ = c.flow.send(p)
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
	case opReadBlock:
		var err error
		c.s.cluster.notePool(p[3:])
		c.block, err = parseReadRequest(p[3:])
		c.phase, c.in = answer, takeBuffer(c.Conn)
		return p, err
	}
	return nil, errUnverified
}

// build asks for a pipeline of those DataNodes of a request to write that can be reached.
func (c *dataConn) build(p []byte) ([]byte, error) {
	c.s.cluster.notePool(p)
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
		c.s.setFlow(c.dataNode, c.flow)
		return nil
	}
	bad := c.write.named(numeric)
	if bad == "" {
		return &nodeError{c.dataNode, err}
	}
	c.s.pipes().blame(bad)
	return &nodeError{bad, err}
}

// Read gives the library what was verified.
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
	if c.phase < answer && len(c.ready) == 0 {
		n, err := c.Conn.Read(p)
		if err != nil {
			err = &nodeError{c.dataNode, err}
		}
		return n, err
	}
	if len(c.ready) == 0 && c.failure == nil {
		if c.failure = c.fill(); c.failure != nil {
			c.Close()
		}
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	return 0, c.failure
}

// fill reads and checks the next part of the answer.
func (c *dataConn) fill() error {
	if c.in == nil {
		return net.ErrClosed
	}
	err := c.Conn.SetReadDeadline(time.Now().Add(c.timeout))
	if err == nil && c.phase == answer {
		err = c.readAnswer()
	} else if err == nil {
		err = c.readPacket()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDamaged):
		c.s.damage(replica{block: c.block.id, offset: c.block.at, dataNode: c.dataNode})
	case err != io.EOF || c.block.left > 0:
		c.s.lose(c.dataNode)
	}
	return err
}

// readAnswer takes what the DataNode says to the request.
func (c *dataConn) readAnswer() error {
	raw, err := readMessage(c.in)
	if err != nil {
		return err
	}
	a, err := parseAnswer(raw.body)
	if err != nil {
		return err
	}
	if !a.granted {
		c.s.lose(c.dataNode)
	} else if c.sums, err = a.checksums(); err != nil {
		return err
	}
	if a.granted {
		c.block.left += c.block.at - a.start // it begins where a checksum does
		c.block.at = a.start
	}
	c.ready, c.phase = raw.all, packets
	return nil
}

// readPacket takes one packet and checks all of it.
func (c *dataConn) readPacket() error {
	p, err := c.nextPacket()
	if err != nil {
		return err
	}
	sums, data, err := parsePacket(p)
	if err != nil || c.sums.chunk == 0 || len(sums) != c.sums.count(len(data))*sumSize {
		return errMalformed
	}
	if at := c.sums.verify(sums, data); at >= 0 {
		c.block.at += int64(at)
		return errDamaged
	}
	c.block.at += int64(len(data))
	c.block.left -= int64(len(data))
	c.ready = p
	return nil
}

// nextPacket receives a packet. It lies in the buffer of c.in, if it is not too large
// for that, and stays there until the next one is received.
func (c *dataConn) nextPacket() ([]byte, error) {
	start, err := c.in.Peek(packetStart)
	if len(start) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, unexpected(err)
	}
	n, _, err := packetLength(start)
	if err != nil {
		return nil, err
	}
	if n <= c.in.Size() {
		p, err := c.in.Peek(n)
		if err != nil {
			return nil, unexpected(err)
		}
		_, err = c.in.Discard(n)
		return p, err
	}
	if cap(c.large) < n {
		c.large = make([]byte, n)
	}
	_, err = io.ReadFull(c.in, c.large[:n])
	return c.large[:n], unexpected(err)
}

// readBuffer is how much is received at once, in bytes: a few packets.
const readBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

func takeBuffer(r io.Reader) *bufio.Reader {
	in := buffers.Get().(*bufio.Reader)
	in.Reset(r)
	return in
}

func giveBuffer(in *bufio.Reader) {
	in.Reset(nil)
	buffers.Put(in)
}

// unexpected makes an end in the middle of something an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
