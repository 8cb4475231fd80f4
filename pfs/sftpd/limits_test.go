package sftpd

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"golang.org/x/crypto/ssh"
)

// TestStalledClient logs in and accepts no bytes from then on: the connection ends, whatever the time since the login.
func TestStalledClient(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			_ = there.SetDeadline(time.Now().Add(loginTime))
			c := &pacedConn{Conn: there}
			c.begin(func() (func(), error) { return func() {}, nil })
			time.Sleep(idle)
			began := time.Now()
			if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != stall {
				t.Errorf("a write after %v ends after %v: %v", idle, time.Since(began), err)
			}
		})
	}
}

// queued is an end of a pipe whose writes do not wait for the other end: in SSH both begin with a write.
type queued struct {
	net.Conn
	out chan []byte
}

func newQueued(c net.Conn) *queued {
	q := &queued{c, make(chan []byte, 1000)}
	go func() {
		for p := range q.out {
			_, _ = c.Write(p)
		}
	}()
	return q
}

func (q *queued) Write(p []byte) (int, error) {
	q.out <- bytes.Clone(p)
	return len(p), nil
}

// TestSilentClient logs in and says nothing more. A client that answers when it is asked whether it is there stays, even one that
// receives nothing else for days. Another is gone: the connection ends.
func TestSilentClient(t *testing.T) {
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := gatewaytest.New(t, memfs.New(memfs.Options{}))
			key, err := auth.LoadOrMakeHostKey(t.Context(), s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			g, err := New(Config{Auth: s.Auth, Open: s.Open("sftp"), HostKey: key, Home: func(id auth.Identity) pfs.Path { return gatewaytest.Home(id.Name) }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			l := make(gatewaytest.PipeListener)
			served := make(chan error, 1)
			go func() { served <- g.Serve(ctx, l) }()
			defer func() {
				cancel()
				close(l)
				<-served
			}()
			here := newQueued(l.Dial())
			defer close(here.out)
			conn, channels, questions, err := ssh.NewClientConn(here, "", &ssh.ClientConfig{
				User: gatewaytest.Alice, Auth: []ssh.AuthMethod{ssh.Password(gatewaytest.Password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			asked := 0
			go func() {
				for q := range questions {
					if asked++; answers {
						_ = q.Reply(false, nil) // as OpenSSH's client does, which does not know the request
					}
				}
			}()
			none := make(chan *ssh.Request)
			close(none)
			c := ssh.NewClient(conn, channels, none)
			began, ended := time.Now(), make(chan struct{})
			go func() {
				_ = c.Wait()
				close(ended)
			}()
			const days = 3 * 24 * time.Hour
			select {
			case <-ended:
			case <-time.After(days):
			}
			if took := time.Since(began); answers != (took == days) || !answers && took > silence+askEvery {
				t.Errorf("the connection of a client of which it is %t that it answers ends after %v, and %d questions", answers, took, asked)
			}
			if x, err := c.NewSession(); answers && err != nil {
				t.Errorf("a session after %d questions: %v", asked, err)
			} else if err == nil {
				x.Close()
			}
		})
	}
}

// failing is a listener that first fails with errs.
type failing struct {
	net.Listener
	errs chan error
}

func (l failing) Accept() (net.Conn, error) {
	select {
	case err := <-l.errs:
		return nil, err
	default:
		return l.Listener.Accept()
	}
}

// TestAcceptFails runs out of file descriptors: connections are accepted later. A listener that is closed ends Serve.
func TestAcceptFails(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	key, err := auth.LoadOrMakeHostKey(t.Context(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Auth: s.Auth, Open: s.Open("sftp"), HostKey: key, Home: func(id auth.Identity) pfs.Path { return gatewaytest.Home(id.Name) }})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := failing{tcp, make(chan error, 2)}
	for range cap(l.errs) {
		l.errs <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(t.Context(), l) }()
	c, err := ssh.Dial("tcp", tcp.Addr().String(), &ssh.ClientConfig{
		User: gatewaytest.Alice, Auth: []ssh.AuthMethod{ssh.Password(gatewaytest.Password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Errorf("a login after the error: %v", err)
	} else {
		c.Close()
	}
	_ = tcp.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve ends with %v", err)
	}
}

// TestTurns reads from two connections of a user. The second waits until the first has carried out what it read, or has
// taken too long.
func TestTurns(t *testing.T) {
	const step = time.Millisecond
	for _, busy := range []time.Duration{step / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			queue := fair.New(1)
			dial := func() *pacedConn {
				here, there := net.Pipe()
				t.Cleanup(func() { here.Close() })
				go func() { _, _ = here.Write(make([]byte, shortRead+1)) }()
				c := &pacedConn{Conn: there}
				c.begin(func() (func(), error) { return queue.TakeFor(t.Context(), step, fair.Claim{Key: "alice"}) })
				return c
			}
			began := time.Now()
			read := func(c *pacedConn, want time.Duration) {
				if _, err := c.Read(make([]byte, shortRead+1)); err != nil || time.Since(began) != want {
					t.Errorf("a read ends after %v, want %v: %v", time.Since(began), want, err)
				}
			}
			first := dial()
			read(first, 0)
			time.AfterFunc(busy, func() { _, _ = first.Read(make([]byte, 1)) }) // waits for more
			read(dial(), min(busy, step))
		})
	}
}

// TestAheadIsBounded keeps as much as it can of what comes before its turn, in many uploads of a user.
func TestAheadIsBounded(t *testing.T) {
	l := newUploads()
	u := &user{Session: gatewaytest.New(t, memfs.New(memfs.Options{})).Session(t, gatewaytest.Alice, "test")}
	var all []*upload
	for _, size := range []int{1, 256 << 10} {
		kept, pieces := 0, 0
		for range 100 {
			up := &upload{u: u, in: l, ahead: map[int64][]byte{}}
			all = append(all, up)
			for off := int64(1); up.keep(make([]byte, size), off); off += 2 * int64(size) {
				kept += size
				pieces++
			}
			if up.aheadLen > maxAhead {
				t.Errorf("an upload keeps %d bytes", up.aheadLen)
			}
		}
		if kept > maxUserAhead || pieces > maxUserAhead/aheadCost || pieces < 100 {
			t.Errorf("%d bytes in %d pieces are kept", kept, pieces)
		}
		for _, up := range all {
			l.remove(up)
		}
	}
	if len(l.ahead.each) > 0 {
		t.Errorf("%v is counted for nothing", l.ahead.each)
	}
}
