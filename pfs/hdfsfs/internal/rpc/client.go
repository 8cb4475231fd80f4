package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// Options are the options of a Client. Only User, Kerberos and Token may be empty.
type Options struct {
	// Servers are the NameNodes.
	Servers *Servers

	// User is the user of the calls. With Kerberos, "" is the principal, and any other user is impersonated.
	User string

	// Kerberos returns a client with a valid ticket. It is called before each connection. It is nil if the
	// NameNodes trust user names.
	Kerberos func(context.Context) (*krb.Client, error)

	// Token returns a delegation token, which is used instead of Kerberos, or nil. It is called before each connection.
	Token func() (*hdfsproto.Token, error)

	// Service is the NameNodes' principal without the realm; _HOST is replaced by the name of each.
	Service string

	// Timeout ends a call, and a handshake, that a NameNode does not answer. Connections are made in half of it.
	Timeout time.Duration
}

// Client makes the calls of one user. Methods may be called concurrently.
type Client struct {
	opts   Options
	id     [16]byte // by which NameNodes know repeated calls
	lastID atomic.Uint32

	life context.Context
	stop context.CancelFunc

	mu    sync.Mutex
	links map[string]*link // to NameNodes, until they fail
}

// New returns a client. It connects when it is used.
func New(o Options) *Client {
	c := &Client{opts: o, links: map[string]*link{}}
	_, _ = rand.Read(c.id[:]) // it never fails
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends all calls and connections.
func (c *Client) Close() {
	c.stop()
	c.mu.Lock()
	var conns []*conn
	for _, l := range c.links {
		if l.conn != nil {
			conns = append(conns, l.conn)
		}
	}
	c.mu.Unlock()
	for _, cn := range conns {
		cn.end(errClosed)
	}
}

// Repeat tells whether a call may be repeated when it is not known whether it was executed.
type Repeat int

const (
	// Once is for a call that may have another effect the second time.
	Once Repeat = iota
	// Idempotent is for a call that has the same effect the second time.
	Idempotent
	// Cached is for a call that NameNodes keep in their retry cache: create, append, rename, delete, concat,
	// updatePipeline, and the other calls that Hadoop declares as "at most once". They know the repeated
	// call by the IDs of the client and of the call, and return the first result again.
	Cached
)

// pauses are the pauses before a call is repeated, after all NameNodes were asked. They bridge a short
// failover; the caller waits for a longer one.
var pauses = []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond}

// Call makes a call on the active NameNode. A method of a protocol other than ClientProtocol is written PROTOCOL.METHOD. An
// exception of the NameNode is a *RemoteError.
func (c *Client) Call(ctx context.Context, method string, request, response proto.Message, r Repeat) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	k := attempts{client: c, method: method, body: body, id: int32(c.lastID.Add(1) & 0x7fffffff), repeat: r}
	for round := 0; ; round++ {
		answer, again, err := k.round(ctx)
		if err == nil {
			return decode(answer, response)
		}
		if !again || round == len(pauses) {
			return err
		}
		select {
		case <-time.After(pauses[round]):
		case <-ctx.Done():
			return err
		}
	}
}

// decode decodes the answer to a call.
func decode(answer []byte, response proto.Message) error {
	part, _, err := cutPart(answer)
	if err != nil {
		return err
	}
	return proto.Unmarshal(part, response)
}

// attempts are those of one call. All have the same ID.
type attempts struct {
	client *Client
	method string
	body   []byte
	id     int32
	repeat Repeat

	made   int32
	silent []string // NameNodes that did not answer, and are not asked again
}

// round asks the NameNodes in turn until one answers. again reports whether another round makes sense.
func (k *attempts) round(ctx context.Context) (answer []byte, again bool, err error) {
	for _, server := range k.client.opts.Servers.Order() {
		if slices.Contains(k.silent, server) {
			continue
		}
		var wasSent bool
		if answer, wasSent, err = k.ask(ctx, server); err == nil {
			return answer, false, nil
		}
		if ctx.Err() != nil || !k.goesOn(server, wasSent, err) {
			return nil, false, plain(err)
		}
		again = again || !slices.Contains(k.silent, server)
	}
	return nil, again, err
}

// ask makes the call on one NameNode.
func (k *attempts) ask(ctx context.Context, server string) (answer []byte, wasSent bool, err error) {
	c := k.client
	of, method := protocol, k.method
	if i := strings.LastIndexByte(method, '.'); i >= 0 {
		of, method = method[:i], method[i+1:]
	}
	frame, err := appendFrame(make([]byte, 0, len(k.body)+len(k.method)+128), k.body, requestHeader(c.id[:], k.id, k.made), &hdfsproto.CallHeader{
		Method: &method, Protocol: &of, Version: proto.Uint64(1),
	})
	if err != nil {
		return nil, false, final{err}
	}
	k.made++
	for {
		cn, err := c.connection(ctx, server)
		if err != nil {
			return nil, false, err
		}
		answer, wasSent, err = cn.do(ctx, newCall(k.method, k.id, frame))
		if err == errIdle && !wasSent && c.life.Err() == nil {
			continue // it ended just then
		}
		if err != nil && ctx.Err() == nil {
			err = explain(server, err)
		}
		return answer, wasSent, err
	}
}

// goesOn reports whether the call may be repeated after err on the server.
func (k *attempts) goesOn(server string, wasSent bool, err error) bool {
	var late *NoAnswer
	var remote *RemoteError
	var last final
	switch {
	case errors.As(err, &last):
		return false
	case errors.As(err, &remote):
		if remote.Class == standbyException || remote.Class == observerException {
			k.client.opts.Servers.NoteFailed(server)
		}
		return remote.AsksToRepeat()
	case errors.As(err, &late):
		if late.alive {
			return false // it is busy with this call
		}
		k.silent = append(k.silent, server)
	}
	return !wasSent || k.repeat != Once
}

// final is an error that another NameNode would not change.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// plain removes final.
func plain(err error) error {
	if f, ok := err.(final); ok {
		return f.error
	}
	return err
}
