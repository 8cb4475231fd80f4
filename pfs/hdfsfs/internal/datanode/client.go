package datanode

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the options of a Client.
type Options struct {
	// Dial connects to the address of a DataNode. It keeps its own time limit.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	// Timeout bounds the wait for a SASL exchange, for a response, and for each packet.
	Timeout time.Duration

	// Security protects connections.
	Security Security

	// Hedge makes a Reader ask another replica when one is slow.
	Hedge bool
}

const (
	// maxIdle is the number of idle connections to one DataNode.
	maxIdle = 8
	// idleTime is shorter than the four seconds after which DataNodes close idle connections
	// (dfs.datanode.socket.reuse.keepalive).
	idleTime = 3 * time.Second
	// suspicion is the time after which one read tests whether a failed DataNode answers again. Until then the DataNode is asked last.
	suspicion = time.Minute
	// received is the size of the buffer of a connection in bytes. Most data does not pass through it.
	received = 16 << 10
)

// Client has the connections to the DataNodes of a cluster. Its methods may be called concurrently.
type Client struct {
	opts   Options
	name   string
	hedges hedges

	mu       sync.Mutex
	closed   bool
	idle     map[string][]*conn   // by address; the most recently used is at the end
	suspects map[string]time.Time // when a DataNode failed that has not answered since, by address
	answered map[string]time.Time // when a DataNode answered last
	known    map[string]knownNode // DataNodes of pipelines, by ID

	writers atomic.Int32 // blocks that are being written
}

// NewClient returns a client.
func NewClient(opts Options) *Client {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it never fails
	return &Client{opts: opts, name: "pfs-" + hex.EncodeToString(id), idle: map[string][]*conn{}, suspects: map[string]time.Time{},
		answered: map[string]time.Time{}, known: map[string]knownNode{}}
}

// Close closes the idle connections. Those in use are closed when their Streams end.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conns := range c.idle {
		for _, cn := range conns {
			cn.timer.Stop()
			cn.Close()
		}
	}
	c.idle = nil
}

// conn is a connection to a DataNode.
type conn struct {
	net.Conn
	address string
	in      *bufio.Reader
	timer   *time.Timer // while it is idle
}

// protect makes all further bytes pass through raw, which reads from the buffer.
func (cn *conn) protect(raw net.Conn) {
	cn.Conn, cn.in = raw, bufio.NewReaderSize(raw, received)
}

// connect returns an idle connection, or a new one, which may ask for a block with this token.
func (c *Client) connect(ctx context.Context, r Replica) (cn *conn, used bool, err error) {
	if cn := c.take(r.Address); cn != nil {
		return cn, true, nil
	}
	cn, err = c.connectNew(ctx, r)
	return cn, false, err
}

// connectNew returns a new connection.
func (c *Client) connectNew(ctx context.Context, r Replica) (*conn, error) {
	cn, err := c.dial(ctx, r, false)
	if errors.Is(err, errUnknownKey) {
		cn, err = c.dial(ctx, r, true)
	}
	return cn, err
}

func (c *Client) dial(ctx context.Context, r Replica, freshKey bool) (*conn, error) {
	raw, err := c.opts.Dial(ctx, r.Address)
	if err != nil {
		return nil, err
	}
	cn := &conn{Conn: raw, address: r.Address, in: bufio.NewReaderSize(raw, received)}
	if err := c.secure(ctx, cn, r.Token, freshKey); err != nil {
		cn.Close()
		return nil, err
	}
	return cn, nil
}

func (c *Client) take(address string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	conns := c.idle[address]
	if len(conns) == 0 {
		return nil
	}
	cn := conns[len(conns)-1]
	c.idle[address] = conns[:len(conns)-1]
	cn.timer.Stop()
	return cn
}

// keep makes a connection idle.
func (c *Client) keep(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle[cn.address]) >= maxIdle {
		cn.Close()
		return
	}
	cn.timer = time.AfterFunc(idleTime, func() { c.expire(cn) })
	c.idle[cn.address] = append(c.idle[cn.address], cn)
}

func (c *Client) expire(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.idle[cn.address], cn); i >= 0 {
		c.idle[cn.address] = slices.Delete(c.idle[cn.address], i, i+1)
		cn.Close()
	}
}

// suspect notes that a DataNode failed, or was slow.
func (c *Client) suspect(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspects[address] = time.Now()
}

// trust notes that a DataNode answered.
func (c *Client) trust(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.suspects, address)
	c.answered[address] = time.Now()
}

// suspected reports whether a DataNode failed and has not answered since. After each suspicion period it returns false to one
// caller, which thereby tests the DataNode.
func (c *Client) suspected(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.suspects[address]
	if ok && time.Since(at) > suspicion {
		c.suspects[address] = time.Now()
		return false
	}
	return ok
}

// latest sorts DataNodes by their last answers, the most recent first.
func (c *Client) latest(addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(addresses, func(a, b string) int { return c.answered[b].Compare(c.answered[a]) })
}
