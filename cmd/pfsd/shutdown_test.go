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

// halfway opens a request at address and leaves it without its body, at a point where the service
// waits for that. r has the answer once rest was written to conn.
func halfway(t *testing.T, address string) (conn net.Conn, rest []byte, r *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := wire.Encode(wire.Credentials{User: "ann", Password: strings.TrimSpace(goodPassword)})
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: pfs\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		wire.PathLogin, wire.TypeMessage, len(body))
	if err != nil {
		t.Fatal(err)
	}
	r = bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("%+v, %v; want to be asked for the body", resp, err)
	}
	return conn, body, r
}

// closed returns when no process listens at address.
func closed(address string) {
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
}

// A request in progress at the time of the signal is answered.
func TestGracefulShutdown(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls")
	address := strings.TrimPrefix(s.endpoint, "http://")
	conn, rest, r := halfway(t, address)
	stopped := make(chan int)
	go func() {
		code, _ := s.stop()
		stopped <- code
	}()
	closed(address)
	if _, err := conn.Write(rest); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(r, nil)
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
