package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// as sends a request as user and returns its answer.
func as(s *Server, user, method, target string, body []byte) *httptest.ResponseRecorder {
	return do(s, method, target, body, "Authorization", "Bearer "+user)
}

func TestEachUserHasAShareOfTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, slow{memfs.New(memfs.Options{}), waitForSlot * 3 / 2, nil}, func(c *Config) { c.MaxRequests = 8 })
		usage, stat := wire.Encode(wire.PathRequest{Path: "/"}), wire.Encode(wire.PathRequest{Path: "/"})
		for range 2 {
			go as(s, "alice", "POST", "/v1/call/usage", usage)
		}
		synctest.Wait()
		began := time.Now()
		if w := as(s, "bob", "POST", "/v1/call/stat", stat); w.Code != 200 || time.Since(began) > 0 {
			t.Errorf("bob, while alice has her share: HTTP %d after %v", w.Code, time.Since(began))
		}
		if w := as(s, "alice", "POST", "/v1/call/stat", stat); kindOf(t, w) != pfs.Limit || time.Since(began) != waitForSlot {
			t.Errorf("alice beyond her share: HTTP %d after %v", w.Code, time.Since(began))
		}
		for i := range 6 {
			go as(s, fmt.Sprint("user", i), "POST", "/v1/call/usage", usage)
		}
		synctest.Wait()
		began = time.Now()
		if w := as(s, "bob", "POST", "/v1/call/stat", stat); w.Code != 200 || time.Since(began) != waitForSlot/2 {
			t.Errorf("bob, while all have all slots until alice's end: HTTP %d after %v", w.Code, time.Since(began))
		}
		if w := do(s, "GET", "/healthz", nil); w.Code != 200 {
			t.Errorf("/healthz while the service is busy: HTTP %d", w.Code)
		}
		time.Sleep(2 * waitForSlot)
		if n := s.requests.taken(); n > 0 {
			t.Errorf("%d slots are left taken", n)
		}
	})
}

func TestHalfSentMessagesHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) { c.MaxRequests = 4 })
		var ends []*io.PipeWriter
		for _, target := range []string{wire.PathLogin, wire.PathRefresh, wire.PathCall + wire.CallStat} {
			for range 2 * logins {
				body, end := io.Pipe()
				r := httptest.NewRequest("POST", target, body)
				r.ContentLength = 100
				r.Header.Set("Authorization", "Bearer alice")
				go s.ServeHTTP(httptest.NewRecorder(), r)
				ends = append(ends, end)
			}
		}
		synctest.Wait()
		began := time.Now()
		w := do(s, "POST", wire.PathLogin, wire.Encode(wire.Credentials{User: "alice", Password: "right"}))
		if w.Code != 200 {
			t.Errorf("login beside half-sent ones: HTTP %d", w.Code)
		}
		if w := do(s, "POST", "/v1/call/stat", wire.Encode(wire.PathRequest{Path: "/"})); w.Code != 200 {
			t.Errorf("stat beside half-sent ones: HTTP %d", w.Code)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("they waited %v", waited)
		}
		for _, end := range ends {
			end.Close()
		}
	})
}

// pipes listens on connections within the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// serve serves s by net/http and returns a way to connect.
func serve(t *testing.T, s *Server) (dial func() net.Conn) {
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	front := &http.Server{Handler: s}
	go front.Serve(l)
	t.Cleanup(func() { front.Close() })
	return func() net.Conn {
		here, there := net.Pipe()
		l.conns <- there
		return here
	}
}

// header returns the header of a request of alice.
func header(method, target string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: pfs\r\nAuthorization: Bearer alice\r\nContent-Length: %d\r\n\r\n", method, target, length)
}

func TestACallMayTakeLongerThanASenderMayStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, slow{memfs.New(memfs.Options{}), 4 * pace.Stall, nil}, nil)
		c := serve(t, s)()
		defer c.Close()
		message := wire.Encode(wire.PathRequest{Path: "/"})
		if _, err := io.WriteString(c, header("POST", "/v1/call/usage", len(message))+string(message)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		var f wire.Frame
		for !f.Done {
			if err := wire.ReadFrame(resp.Body, &f); err != nil {
				t.Fatal(err)
			}
		}
		var reply wire.UsageReply
		if f.Error != nil || wire.Decode(f.Reply, &reply) != nil || reply.Files != 3 {
			t.Errorf("the call ended with %v, %+v", f.Error, reply)
		}
	})
}

func TestSlowSendersAreGivenUp(t *testing.T) {
	const size = pfs.ChunkSize
	tests := []struct {
		name   string
		pieces int // the chunk is sent in this number of pieces, with a pause before each
		pause  time.Duration
		want   int
	}{
		{"steady", 64, time.Second, http.StatusNoContent},
		{"pauses within the limit", 8, pace.Stall - time.Second, http.StatusNoContent},
		{"one pause too long", 2, pace.Stall + time.Second, http.StatusServiceUnavailable},
		{"too slow on average", 1024, time.Second, http.StatusServiceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
				do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"}))
				c := serve(t, s)()
				body := onWire(make([]byte, size))
				go func() {
					_, _ = io.WriteString(c, header("PUT", "/v1/data?path=/f&id=12345678", len(body)))
					n := len(body)/tt.pieces + 1
					for len(body) > 0 {
						time.Sleep(tt.pause)
						k := min(n, len(body))
						if _, err := c.Write(body[:k]); err != nil {
							return
						}
						body = body[k:]
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != tt.want {
					t.Errorf("HTTP %d, want %d", resp.StatusCode, tt.want)
				}
				c.Close()
				time.Sleep(2 * pace.Stall) // until both ends have noticed
				if n := s.requests.taken(); n > 0 {
					t.Errorf("%d slots are still taken", n)
				}
			})
		})
	}
}

func TestAStoreThatHangsHoldsOnlyItsUsersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) {
			c.MaxRequests = 8
			c.EnsureHome = func(ctx context.Context, id auth.Identity) error {
				if id.Name == "alice" {
					<-ctx.Done()
				}
				return ctx.Err()
			}
		})
		stat := wire.Encode(wire.PathRequest{Path: "/"})
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			r := httptest.NewRequest("GET", "/v1/data?path=/", nil).WithContext(ctx)
			r.Header.Set("Authorization", "Bearer alice")
			go s.ServeHTTP(httptest.NewRecorder(), r)
		}
		synctest.Wait()
		if w := as(s, "bob", "POST", "/v1/call/stat", stat); w.Code != 200 {
			t.Errorf("bob: HTTP %d", w.Code)
		}
		cancel()
	})
}

func TestBodiesThatNeverComeEndTheConnection(t *testing.T) {
	const many = 200000
	long := "/" + strings.Repeat("long/", 700)
	tests := []struct{ name, header string }{
		{"without a token", "POST /v1/call/stat HTTP/1.1\r\nHost: pfs\r\nContent-Length: 100000\r\n\r\n"},
		{"of an unknown call", header("POST", "/v1/call/x", many)},
		{"of a call, too long", header("POST", "/v1/call/stat", many)},
		{"with an answer longer than a buffer", header("PUT", "/v1/data?off=x&path="+long, many)},
		{"of a write", header("PUT", "/v1/write?off=x&path="+long, many)},
		{"of another protocol", "POST /v1/call/stat HTTP/1.1\r\nHost: pfs\r\nPfs-Protocol: 9\r\nContent-Length: 100000\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
				c := serve(t, s)()
				defer c.Close()
				began := time.Now()
				go io.WriteString(c, tt.header)
				if _, err := io.Copy(io.Discard, c); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 2*linger {
					t.Errorf("the connection was held for %v", took)
				}
				if n := s.requests.taken(); n > 0 {
					t.Errorf("%d slots are taken", n)
				}
			})
		})
	}
}

// TestSharesAreTold checks that each answer contains the user's limit of requests in progress.
func TestSharesAreTold(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) { c.MaxRequests = 20 })
	h := do(s, "POST", wire.PathCall+wire.CallStat, wire.Encode(wire.PathRequest{Path: "/"})).Result().Header
	if h.Get(wire.HeaderRequests) != "5" || h.Get(wire.HeaderBatches) != "4" {
		t.Errorf("got %v", h)
	}
}
