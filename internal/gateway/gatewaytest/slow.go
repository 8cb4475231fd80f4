package gatewaytest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
)

// PipeListener is a listener whose connections are made in memory, so that a test can skip time (testing/synctest).
type PipeListener chan net.Conn

func (l PipeListener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l PipeListener) Close() error   { return nil }
func (l PipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// Dial makes a connection.
func (l PipeListener) Dial() net.Conn {
	here, there := net.Pipe()
	l <- there
	return here
}

// Pipes serves h on connections in memory.
func Pipes(t testing.TB, h http.Handler) (dial func() net.Conn) {
	l, server := make(PipeListener), &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		close(l)
		_ = server.Close()
	})
	return l.Dial
}

// Slow sends requests whose bodies do not come, or come a byte a second. It fails the test if the service keeps a connection
// for more than twice pace.Stall, or does not answer what it can answer without the body. prepare makes the handler, and the
// requests without the last line of their headers. They are sent in a bubble of testing/synctest.
func Slow(t *testing.T, prepare func(t *testing.T) (h http.Handler, requests []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, requests := prepare(t)
		dial := Pipes(t, h)
		for _, request := range requests {
			for _, body := range [][2]string{
				{"Content-Length: 1000\r\n", ""}, {"Content-Length: 1000\r\n", "x"}, {"Transfer-Encoding: chunked\r\n", ""},
				{"Transfer-Encoding: chunked\r\n", "1\r\nx\r\n"}, {"Content-Length: 1000\r\nExpect: 100-continue\r\n", ""},
			} {
				slow(t, dial(), request+body[0]+"\r\n", body[1])
			}
		}
	})
}

// slow sends the head of a request, and each a second.
func slow(t *testing.T, c net.Conn, head, each string) {
	began := time.Now()
	var sending sync.WaitGroup
	defer sending.Wait()
	defer c.Close()
	sending.Go(func() {
		_, err := io.WriteString(c, head)
		for err == nil && each != "" {
			time.Sleep(time.Second)
			_, err = io.WriteString(c, each)
		}
	})
	_ = c.SetReadDeadline(began.Add(time.Hour))
	answer, err := io.ReadAll(c)
	first, _, _ := strings.Cut(head, "\r\n")
	if took := time.Since(began); err != nil || took > 2*pace.Stall {
		t.Errorf("%s, %q each second: the connection is kept for %v, %v", first, each, took, err)
	}
	answer = bytes.TrimPrefix(answer, []byte("HTTP/1.1 100 Continue\r\n\r\n"))
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
		t.Errorf("%s, %q each second: the answer is %.100q", first, each, answer)
	}
}

// StoppedReader asks for a file of size bytes on c, reads the first ones, and accepts no more for twice pace.Stall. It fails the
// test if the service still waits then. It is called in a bubble of testing/synctest.
func StoppedReader(t *testing.T, c net.Conn, head string, size int) {
	t.Helper()
	defer c.Close()
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1000)
	if _, err := io.ReadFull(c, first); err != nil || !bytes.HasPrefix(first, []byte("HTTP/1.1 200 ")) {
		t.Fatalf("the answer is %.100q, %v", first, err)
	}
	time.Sleep(2 * pace.Stall)
	_ = c.SetReadDeadline(time.Now().Add(time.Hour))
	rest, err := io.ReadAll(c)
	if err != nil || len(rest) >= size/2 {
		t.Errorf("the service has waited for a client that stopped to read: %d bytes more, %v", len(rest), err)
	}
}
