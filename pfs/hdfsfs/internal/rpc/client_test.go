package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// client returns a client of NameNodes that answer at once.
func client(t testing.TB, nodes ...*nameNode) *Client {
	t.Helper()
	return clientWithin(t, time.Minute, nodes...)
}

// clientWithin is client with a timeout.
func clientWithin(t testing.TB, timeout time.Duration, nodes ...*nameNode) *Client {
	t.Helper()
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.address)
	}
	c := New(Options{Servers: NewServers(addresses), User: "alice", Timeout: timeout})
	t.Cleanup(c.Close)
	return c
}

// locate makes a call, and returns the length of the file.
func locate(ctx context.Context, c *Client, path string, r Repeat) (uint64, error) {
	response := new(hdfsproto.GetBlockLocationsResponse)
	err := c.Call(ctx, "getBlockLocations", &hdfsproto.GetBlockLocationsRequest{Path: &path, Offset: proto.Uint64(0), Length: proto.Uint64(1)}, response, r)
	return response.GetLocations().GetFileLength(), err
}

// wantLength makes a call that is answered.
func wantLength(t *testing.T, c *Client, path string, want uint64) {
	t.Helper()
	if got, err := locate(t.Context(), c, path, Idempotent); err != nil || got != want {
		t.Errorf("%s has %d bytes, %v, want %d", path, got, err, want)
	}
}

// calls collects the calls that NameNodes received.
type calls struct {
	mu  sync.Mutex
	all []request
}

func (k *calls) add(r request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, r)
}

// wantRepeated checks that one call was received n times, with the same IDs and increasing counts.
func (k *calls) wantRepeated(t *testing.T, n int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) != n {
		t.Fatalf("the call was received %d times, want %d", len(k.all), n)
	}
	first := k.all[0].header
	for i, r := range k.all {
		if r.header.GetCallId() != first.GetCallId() || string(r.header.GetClientId()) != string(first.GetClientId()) ||
			i > 0 && r.header.GetRetryCount() <= k.all[i-1].header.GetRetryCount() {
			t.Errorf("repetition %d has the header %v, the first one %v", i, r.header, first)
		}
	}
}

// lengthOf is what the NameNodes of these tests say of a path: the number in its name.
func lengthOf(path string) (n uint64) {
	_, _ = fmt.Sscanf(path, "/%d", &n)
	return n
}

// TestCalls makes many calls at once, which are answered in the reverse order, over one connection.
func TestCalls(t *testing.T) {
	const n = 50
	var waiting []request
	node := fake(t, answering(func(c *fakeConn, r request) {
		if waiting = append(waiting, r); len(waiting) == n {
			for i := range waiting {
				r := waiting[n-1-i]
				c.answer(r.header.GetCallId(), lengthOf(r.path))
			}
			waiting = nil
		}
	}))
	c := client(t, node)
	for range 3 {
		var group sync.WaitGroup
		for i := range uint64(n) {
			group.Go(func() { wantLength(t, c, fmt.Sprintf("/%d", i), i) })
		}
		group.Wait()
	}
	if got := node.conns.Load(); got != 1 {
		t.Errorf("%d connections were made, want 1", got)
	}
}

// TestUser checks as whom a call is made.
func TestUser(t *testing.T) {
	users := make(chan string, 1)
	c := client(t, fake(t, func(c *fakeConn) {
		context := c.open(&hdfsproto.Sasl{State: hdfsproto.Sasl_SUCCESS.Enum()})
		users <- context.GetUser().GetEffectiveUser() + " " + context.GetProtocol()
		if r, ok := c.next(); ok {
			c.answer(r.header.GetCallId(), 7)
		}
	}))
	wantLength(t, c, "/7", 7)
	if got := <-users; got != "alice "+protocol {
		t.Errorf("the calls are made as %s", got)
	}
}

// TestException returns what the NameNode says, and does not repeat the call.
func TestException(t *testing.T) {
	var received calls
	c := client(t, fake(t, answering(func(c *fakeConn, r request) {
		received.add(r)
		c.fail(r.header.GetCallId(), hdfsproto.ResponseHeader_ERROR, "java.io.FileNotFoundException", "no /f\n\tat A.java:1")
	})))
	_, err := locate(t.Context(), c, "/f", Idempotent)
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Class != "java.io.FileNotFoundException" || remote.Method != "getBlockLocations" ||
		remote.Text != "no /f\n\tat A.java:1" || remote.Error() != "java.io.FileNotFoundException: no /f" {
		t.Errorf("the error is %#v", err)
	}
	received.wantRepeated(t, 1)
}

// TestNextNameNode finds the NameNode that answers: the first ones are a standby, an observer, gone, and one
// that ends connections. A call that may be made only once is repeated where nothing was sent.
func TestNextNameNode(t *testing.T) {
	for name, first := range map[string]func(c *fakeConn, r request){
		"standby": func(c *fakeConn, r request) {
			c.fail(r.header.GetCallId(), hdfsproto.ResponseHeader_ERROR, standbyException, "no")
		},
		"observer": func(c *fakeConn, r request) {
			c.fail(r.header.GetCallId(), hdfsproto.ResponseHeader_ERROR, observerException, "no")
		},
		"lost":  func(c *fakeConn, _ request) { c.Close() },
		"stray": func(c *fakeConn, r request) { c.answer(r.header.GetCallId()+1000, 1) },
		"huge":  func(c *fakeConn, _ request) { c.sendLength(1<<32 - 1) },
		"short": func(c *fakeConn, _ request) { c.sendLength(60 << 20); c.Close() },
		"malformed": func(c *fakeConn, _ request) {
			c.sendLength(5)
			_, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff, 0xff})
		},
		"empty": func(c *fakeConn, _ request) { c.sendLength(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var received calls
			bad := fake(t, answering(func(c *fakeConn, r request) { received.add(r); first(c, r) }))
			good := fake(t, answering(func(c *fakeConn, r request) { received.add(r); c.answer(r.header.GetCallId(), 9) }))
			c := client(t, bad, good)
			wantLength(t, c, "/9", 9)
			received.wantRepeated(t, 2)
			if c.opts.Servers.Order()[0] != good.address {
				t.Error("the NameNode that failed is still the first one")
			}

			received = calls{}
			c = client(t, bad, good)
			_, err := locate(t.Context(), c, "/9", Once)
			if answered := name == "standby" || name == "observer"; answered != (err == nil) {
				t.Errorf("a call that may be made only once ended with %v", err)
			} else if !answered {
				received.wantRepeated(t, 1)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		good := fake(t, answering(func(c *fakeConn, r request) { c.answer(r.header.GetCallId(), 9) }))
		c := client(t, &nameNode{address: unused(t)}, good)
		if got, err := locate(t.Context(), c, "/9", Once); err != nil || got != 9 {
			t.Errorf("the answer is %d, %v", got, err)
		}
	})
}

// unused returns an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestNone ends when no NameNode can be reached, or all are standbys.
func TestNone(t *testing.T) {
	var received calls
	standby := fake(t, answering(func(c *fakeConn, r request) {
		received.add(r)
		c.fail(r.header.GetCallId(), hdfsproto.ResponseHeader_ERROR, standbyException, "no")
	}))
	c := client(t, standby)
	var remote *RemoteError
	if _, err := locate(t.Context(), c, "/f", Once); !errors.As(err, &remote) || remote.Class != standbyException {
		t.Errorf("the error is %v", err)
	}
	received.wantRepeated(t, 1+len(pauses))

	gone := unused(t)
	c = client(t, &nameNode{address: gone})
	if _, err := locate(t.Context(), c, "/f", Once); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("the error is %v", err)
	}
}

// TestSilent goes on to the next NameNode when one gives no answer to the handshake, or to the call. The call ends when there is none left.
func TestSilent(t *testing.T) {
	const timeout = 2 * time.Second
	for name, serve := range map[string]func(c *fakeConn){
		"handshake": func(c *fakeConn) { c.wait() },
		"call":      answering(func(*fakeConn, request) {}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent := fake(t, serve)
			good := fake(t, answering(func(c *fakeConn, r request) { c.answer(r.header.GetCallId(), 9) }))
			c := clientWithin(t, timeout, silent)
			var late *NoAnswer
			if _, err := locate(t.Context(), c, "/9", Idempotent); !errors.As(err, &late) || late.Server != silent.address {
				t.Errorf("the error is %v", err)
			}
			// The servers know that it is silent: it is asked last.
			c = clientWithin(t, timeout, silent)
			c.opts.Servers = NewServers([]string{silent.address, good.address})
			deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				got, err := locate(deadline, c, "/9", Idempotent)
				if err == nil && got == 9 {
					break
				}
				if !errors.As(err, &late) || deadline.Err() != nil {
					t.Fatalf("the answer is %d, %v", got, err) // a busy machine may time out the good one
				}
			}
			if c.opts.Servers.Order()[0] != good.address {
				t.Error("the silent NameNode is still the first one")
			}
		})
	}
}

// wait waits until the client ends the connection.
func (c *fakeConn) wait() {
	for {
		if _, err := c.in.ReadByte(); err != nil {
			return
		}
	}
}

// TestSlowCall leaves a connection in use on which other calls are answered while one is not. It makes a new
// one when nothing was answered.
func TestSlowCall(t *testing.T) {
	node := fake(t, answering(func(c *fakeConn, r request) { c.answer(r.header.GetCallId(), lengthOf(r.path)) }))
	c := client(t, node)
	wantLength(t, c, "/6", 6)
	cn := c.links[node.address].conn
	if late := cn.noAnswer(0); !late.alive {
		t.Error("the NameNode that answered another call is taken for dead")
	}
	wantLength(t, c, "/7", 7)
	if late := cn.noAnswer(time.Since(cn.born)); late.alive || !c.opts.Servers.FailedSince(node.address, cn.born) {
		t.Error("a NameNode that gave no answer is not noted as failed")
	}
	wantLength(t, c, "/8", 8)
	if got := node.conns.Load(); got != 2 {
		t.Errorf("%d connections were made, want 2", got)
	}
}

// TestContext gives calls up. Their late answers do not disturb the connection.
func TestContext(t *testing.T) {
	arrived, release := make(chan int32, 1), make(chan bool)
	node := fake(t, answering(func(c *fakeConn, r request) {
		if r.path == "/late" {
			arrived <- r.header.GetCallId()
			<-release
		}
		c.answer(r.header.GetCallId(), lengthOf(r.path))
	}))
	c := client(t, node)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(why)
	}()
	if _, err := locate(ctx, c, "/late", Idempotent); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
	close(release)
	wantLength(t, c, "/6", 6)
	if got := node.conns.Load(); got != 1 {
		t.Errorf("%d connections were made, want 1", got)
	}
}

// TestFullQueue has callers wait for a NameNode that does not read. They end with their context.
func TestFullQueue(t *testing.T) {
	node := fake(t, func(c *fakeConn) {
		c.open(&hdfsproto.Sasl{State: hdfsproto.Sasl_SUCCESS.Enum()})
		<-t.Context().Done()
	})
	c := client(t, node)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	long := strings.Repeat("x", 64<<10)
	for range 256 { // more than the buffers of the connection take
		group.Go(func() {
			if _, err := locate(ctx, c, long, Idempotent); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	c.mu.Lock()
	l := c.links[node.address]
	c.mu.Unlock()
	for l == nil {
		time.Sleep(time.Millisecond)
		c.mu.Lock()
		l = c.links[node.address]
		c.mu.Unlock()
	}
	<-l.done
	for len(l.conn.queue) < maxQueued {
		time.Sleep(time.Millisecond)
	}
	cancel()
	group.Wait()
}

// TestIdle ends connections without calls, and makes a new one for the next call.
func TestIdle(t *testing.T) {
	node := fake(t, answering(func(c *fakeConn, r request) { c.answer(r.header.GetCallId(), lengthOf(r.path)) }))
	c := client(t, node)
	for i := range int32(3) {
		wantLength(t, c, "/6", 6)
		if got := node.conns.Load(); got != i+1 {
			t.Errorf("%d connections were made, want %d", got, i+1)
		}
		c.mu.Lock()
		cn := c.links[node.address].conn
		c.mu.Unlock()
		cn.expire()
		<-cn.over
	}
	if c.opts.Servers.FailedSince(node.address, time.Time{}) {
		t.Error("the NameNode is blamed for an idle connection")
	}
}

// TestFatal ends all calls of a connection that the NameNode refuses.
func TestFatal(t *testing.T) {
	c := client(t, fake(t, answering(func(c *fakeConn, r request) {
		c.fail(contextID, hdfsproto.ResponseHeader_FATAL, "org.apache.hadoop.security.authorize.AuthorizationException", "alice may not")
	})))
	var remote *RemoteError
	if _, err := locate(t.Context(), c, "/f", Idempotent); !errors.As(err, &remote) || !strings.Contains(err.Error(), "alice may not") {
		t.Errorf("the error is %v", err)
	}
}

// TestClosed ends calls and connections.
func TestClosed(t *testing.T) {
	arrived := make(chan bool, 1)
	c := client(t, fake(t, answering(func(*fakeConn, request) { arrived <- true })))
	go func() {
		<-arrived
		c.Close()
	}()
	for range 2 {
		if _, err := locate(t.Context(), c, "/f", Idempotent); !errors.Is(err, errClosed) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestNoTicket calls a NameNode that requires a ticket without one, and one that offers both.
func TestNoTicket(t *testing.T) {
	auth := func(method, mechanism string) *hdfsproto.Sasl_Auth {
		return &hdfsproto.Sasl_Auth{Method: &method, Mechanism: &mechanism}
	}
	offer := &hdfsproto.Sasl{State: hdfsproto.Sasl_NEGOTIATE.Enum(), Auths: []*hdfsproto.Sasl_Auth{auth("TOKEN", "DIGEST-MD5"), auth("KERBEROS", "GSSAPI")}}
	c := client(t, fake(t, func(c *fakeConn) { c.open(offer) }))
	if _, err := locate(t.Context(), c, "/f", Idempotent); !errors.Is(err, pfs.Unauthenticated) || !strings.Contains(err.Error(), "keytab") {
		t.Errorf("the error is %v", err)
	}
	both := &hdfsproto.Sasl{State: hdfsproto.Sasl_NEGOTIATE.Enum(), Auths: []*hdfsproto.Sasl_Auth{auth("TOKEN", "DIGEST-MD5"), auth("SIMPLE", "")}}
	c = client(t, fake(t, func(c *fakeConn) {
		c.open(both)
		if _, err := readFrame(c.in); err != nil { // what open returned was the choice
			return
		}
		if r, ok := c.next(); ok {
			c.answer(r.header.GetCallId(), 9)
		}
	}))
	wantLength(t, c, "/9", 9)
}

// TestUntrusted makes no calls on a NameNode that cannot prove itself.
func TestUntrusted(t *testing.T) {
	c := client(t, fake(t, func(c *fakeConn) {
		if context := c.open(&hdfsproto.Sasl{State: hdfsproto.Sasl_SUCCESS.Enum()}); context != nil {
			t.Errorf("the client sent %v", context)
		}
	}))
	c.opts.Kerberos = func(context.Context) (*krb.Client, error) {
		return krb.NewWithPassword("alice", "PFS.TEST", "secret", nil), nil
	}
	if _, err := locate(t.Context(), c, "/f", Idempotent); err == nil || !strings.Contains(err.Error(), "Kerberos") {
		t.Errorf("the error is %v", err)
	}
}
