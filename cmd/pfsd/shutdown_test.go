package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// loginRequest is a request in the parts before and after its last byte.
func loginRequest() (most, last []byte) {
	body := wire.Encode(wire.Credentials{User: "ann", Password: strings.TrimSpace(goodPassword)})
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: pfs\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", wire.PathLogin, wire.TypeMessage, len(body))
	return append([]byte(head), body[:len(body)-1]...), body[len(body)-1:]
}

// halfway opens a request at address and leaves it without its last byte, at a
// point where the service is known to work on it.
func halfway(t *testing.T, address string) (conn net.Conn, last []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	most, last := loginRequest()
	// A first request on the same connection: when it is answered, the connection
	// counts as in use as soon as the next one begins.
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: pfs\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	if _, err := conn.Write(most); err != nil {
		t.Fatal(err)
	}
	waitForRequest(t, address)
	return conn, last
}

// waitForRequest returns when the service has a request at work besides the one
// that asks.
func waitForRequest(t *testing.T, address string) {
	t.Helper()
	for {
		_, body := status(t, "http://"+address+"/metrics")
		for line := range strings.Lines(body) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "pfs_requests_at_work" && value != "0" {
				return
			}
		}
	}
}

// closed returns when nobody listens at address any more.
func closed(address string) {
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
}

// A request that is at work at the time of the signal is answered.
func TestGracefulShutdown(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls")
	address := strings.TrimPrefix(s.endpoint, "http://")
	conn, last := halfway(t, address)
	stopped := make(chan int)
	go func() {
		code, _ := s.stop()
		stopped <- code
	}()
	closed(address)
	if _, err := conn.Write(last); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", resp.StatusCode)
	}
	resp.Body.Close()
	if code := <-stopped; code != 0 {
		t.Errorf("code %d, want 0", code)
	}
}

// The first signal waits for requests, the second does not.
func TestSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on Windows")
	}
	if args := os.Getenv("PFSD_TEST_ARGS"); args != "" {
		os.Args = append([]string{program}, strings.Fields(args)...)
		main()
		return
	}
	data := dataFor(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSecondSignal$")
	cmd.Env = append(os.Environ(), "PFSD_TEST_ARGS=serve --no-tls --listen 127.0.0.1:0 --data "+data)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var address string
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "listening on http://")
	}
	halfway(t, address)
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		closed(address)
	}
	var rest bytes.Buffer
	io.Copy(&rest, stderr)
	err = cmd.Wait()
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
		t.Errorf("ended with %v, want by the signal:\n%s", err, &rest)
	}
}
