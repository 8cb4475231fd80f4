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
	in      *bufio.Reader // of a read
	block   blockRange
	sums    checksums
	ready   []byte // verified and not yet delivered
	packet  []byte // buffer of ready
	failure error
}

// phase is what is going on on a connection.
type phase uint8

const (
	greeting phase = iota // until a request was sent; a SASL handshake perhaps
	passing               // writes and checksums: the bytes are the library's
	answer                // a read was asked for
	packets               // it was granted
)

// dialDataNode connects to a DataNode for the library, whose context is empty.
func (s *session) dialDataNode(_ context.Context, network, address string) (net.Conn, error) {
	conn, err := s.dialer().DialContext(s.life, network, address)
	if err != nil {
		s.lose(address)
		return nil, err
	}
	return &dataConn{Conn: conn, s: s, dataNode: address, timeout: s.cluster.opts.Timeout}, s.keep(conn, true)
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

func (c *dataConn) Close() error {
	c.s.forget(c.Conn)
	return c.Conn.Close()
}

// Write passes a request on. The library writes each whole.
func (c *dataConn) Write(p []byte) (int, error) {
	if c.phase != passing {
		if err := c.request(p); err != nil {
			c.Close()
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// request looks at what the library asks for. What it does not know it refuses, so
// that no answer gets around the check.
func (c *dataConn) request(p []byte) error {
	switch {
	case c.phase != greeting || len(p) < 4:
		return errUnverified
	case [4]byte(p) == saslGreeting:
		return nil
	case p[0] != 0: // a step of the handshake: a message of a length that is not 0
		return nil
	case p[1] != transferVersion:
		return errUnverified // signed or encrypted: it begins with a length of four bytes
	}
	switch p[2] {
	case opWriteBlock, opChecksum:
		c.phase = passing
		return nil
	case opReadBlock:
		var err error
		c.block, err = parseReadRequest(p[3:])
		c.phase, c.in = answer, bufio.NewReaderSize(c.Conn, 512)
		return err
	}
	return errUnverified
}

// Read gives the library what was verified.
func (c *dataConn) Read(p []byte) (int, error) {
	if c.phase < answer {
		return c.Conn.Read(p)
	}
	if len(c.ready) == 0 && c.failure == nil {
		c.failure = c.fill()
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
	c.ready = nil
	c.Close()
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
	h, err := c.readHeader()
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(c.in, c.packet[h.length:]); err != nil {
		return unexpected(err)
	}
	body := c.packet[h.length:]
	sums, data := body[:len(body)-h.data], body[len(body)-h.data:]
	if at := c.sums.verify(sums, data); at >= 0 {
		c.block.at += int64(at)
		return errDamaged
	}
	c.block.at += int64(h.data)
	c.block.left -= int64(h.data)
	c.ready = c.packet
	return nil
}

// unexpected makes an end in the middle of something an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
