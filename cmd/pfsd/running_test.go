package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// running is a service that runs in this process.
type running struct {
	data     string
	endpoint string
	said     string // until it could be reached
	hangup   chan os.Signal
	stop     func() (code int, stderr string)
}

// start runs "pfsd serve" on a data directory with the accounts ann and bob, and waits until it can
// be reached.
func start(t *testing.T, data string, args ...string) *running {
	t.Helper()
	for _, user := range []string{"ann", "bob"} {
		run(t, goodPassword, "user", "add", user, "--data", data, "--password-stdin")
	}
	args = append([]string{program, "serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)
	ctx, cancel := context.WithCancel(context.Background())
	stderr, w := io.Pipe()
	r := &running{data: data, hangup: make(chan os.Signal)}
	done := make(chan int, 1)
	go func() {
		code := (&Main{Stdin: strings.NewReader(""), Stdout: w, Stderr: w, Hangups: func() <-chan os.Signal { return r.hangup }}).Run(ctx, args)
		w.Close()
		done <- code
	}()
	var log strings.Builder
	var reading sync.WaitGroup
	reachable := make(chan string, 2)
	reading.Go(func() {
		defer close(reachable)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "listening on "); ok {
				reachable <- strings.TrimRight(rest, `"}`)
				reachable <- log.String()
			}
		}
	})
	r.stop = sync.OnceValues(func() (int, string) {
		cancel()
		reading.Wait()
		return <-done, log.String()
	})
	r.endpoint, r.said = <-reachable, <-reachable
	if r.endpoint == "" {
		code, stderr := r.stop()
		t.Fatalf("pfsd %s ended with code %d:\n%s", strings.Join(args[1:], " "), code, stderr)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

func dataFor(t *testing.T) string { return filepath.Join(t.TempDir(), "data") }

// login returns a client with the tokens of user.
func (r *running) login(t *testing.T, user string) (*client.Client, client.Tokens) {
	t.Helper()
	opts := client.Options{Endpoint: r.endpoint, Retry: retry.Never}
	if strings.HasPrefix(r.endpoint, "https:") {
		fingerprint, _, err := client.Fingerprint(t.Context(), r.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		opts.Fingerprint = fingerprint
	}
	var tokens client.Tokens
	opts.Token = func(context.Context, string) (string, error) { return tokens.Access, nil }
	c, err := client.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tokens, err = c.Login(t.Context(), user, strings.TrimSpace(goodPassword))
	if err != nil {
		t.Fatal(err)
	}
	return c, tokens
}

func constantToken(access string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return access, nil }
}
