package webhdfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
)

// pipes is a listener whose connections are made in memory, so that time can be skipped.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowBody sends files slowly: a steady one arrives, and one of a byte a second is given up.
func TestSlowBody(t *testing.T) {
	for _, tt := range []struct {
		name  string
		piece int // bytes in a second
		want  int
	}{{"steady", 32 << 10, 201}, {"a byte a second", 1, 503}} {
		synctest.Test(t, func(t *testing.T) {
			s := gatewaytest.New(t, memfs.New(memfs.Options{}))
			h, err := webhdfs.New(webhdfs.Config{Auth: s.Auth, Open: s.Open("webhdfs"), Home: gatewaytest.Home, TrustUserName: true, Root: "/pfs/dc/home/{user}"})
			if err != nil {
				t.Fatal(err)
			}
			q := "/webhdfs/v1/f?op=CREATE&user.name=" + url.QueryEscape(alice)
			location := gatewaytest.Ask(t, h, "PUT", q, "", nil).Header.Get("Location")
			address, err := url.Parse(location)
			if err != nil {
				t.Fatal(err)
			}
			l, server := make(pipes), &http.Server{Handler: h}
			go func() { _ = server.Serve(l) }()
			c, theirs := net.Pipe()
			l <- theirs
			const size = 4 << 20
			began := time.Now()
			var sending sync.WaitGroup
			sending.Go(func() {
				fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", address.RequestURI(), size)
				for range size / tt.piece {
					if _, err := c.Write([]byte(strings.Repeat("x", tt.piece))); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); a.StatusCode != tt.want || tt.want == 503 && took > 2*pace.Stall {
				t.Errorf("%s: %s after %v, want %d", tt.name, a.Status, took, tt.want)
			}
			if _, err := s.Store.Stat(t.Context(), "/home/"+pfs.Path(alice)+"/f"); errors.Is(err, pfs.NotExist) != (tt.want != 201) {
				t.Errorf("%s: then the file is there with %v", tt.name, err)
			}
			c.Close()
			close(l)
			_ = server.Close()
			sending.Wait()
		})
	}
}
