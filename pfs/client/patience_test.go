package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// slowly answers Unavailable to every request after a time.
type slowly time.Duration

func (s slowly) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s))
	h := http.Header{wire.HeaderProtocol: {"1"}}
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: h, Body: http.NoBody}, nil
}

// TestPatience bounds the time for which a request is sent again: that time does not
// depend on the pauses between the requests, which are random.
func TestPatience(t *testing.T) {
	const patience = 30 * time.Second
	for _, tt := range []struct{ timeout, want time.Duration }{
		{3 * time.Second, patience},
		{8 * time.Second, patience},
		{15 * time.Second, patience},
		{17 * time.Second, 34 * time.Second},
		{30 * time.Second, time.Minute},
		{10 * time.Minute, 20 * time.Minute}, // in progress when the service was restarted
	} {
		t.Run(tt.timeout.String(), func(t *testing.T) { testPatience(t, tt.timeout, patience, tt.want) })
	}
}

func testPatience(t *testing.T, timeout, patience, want time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		c, err := New(Options{
			Endpoint: "https://service",
			Token:    func(context.Context, string) (string, error) { return "token", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.http.Transport = slowly(timeout)
		began := time.Now()
		budget := retry.New(retry.Policy{Total: patience}, func(waited time.Duration, _ error) { told = append(told, waited) })
		_, err = c.Stat(retry.With(t.Context(), budget), "/f")
		if took := time.Since(began); pfs.KindOf(err) != pfs.Unavailable || (took-want).Abs() > 4*time.Second {
			t.Errorf("%v after %v, want Unavailable after %v", err, took, want)
		}
		if len(told) == 0 || told[0] != min(timeout, patience/2) || told[len(told)-1] > patience {
			t.Errorf("told of retries after %v", told)
		}
	})
}

// held answers every request that the user has all handles open, and counts them.
type held int

func (n *held) RoundTrip(*http.Request) (*http.Response, error) {
	*n++
	b := wire.Encode(wire.NewError(pfs.Errorf("server.reserve", "", pfs.Limit, "2 handles of yours are open: %w", wire.ErrHeld)))
	h := http.Header{wire.HeaderProtocol: {"1"}}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: h, Body: io.NopCloser(bytes.NewReader(b))}, nil
}

// TestHandlesHeld: waiting does not close the handles of a user, so the error comes at once and says what does.
func TestHandlesHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{Endpoint: "https://service", Token: func(context.Context, string) (string, error) { return "token", nil }})
		if err != nil {
			t.Fatal(err)
		}
		var n held
		c.http.Transport = &n
		began := time.Now()
		_, err = c.OpenHandle(t.Context(), "/f", pfs.OpenRead, 0)
		if !errors.Is(err, pfs.Limit) || !strings.Contains(err.Error(), "close some") || n != 1 || time.Since(began) > 0 {
			t.Errorf("%v after %d requests and %v", err, n, time.Since(began))
		}
	})
}

// TestAnswersRenewTheBudget: one request that fails for as long as the budget lasts does not end the retries of
// others, as long as the service answers them.
func TestAnswersRenewTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{Endpoint: "https://service"})
		if err != nil {
			t.Fatal(err)
		}
		budget := retry.New(retry.Policy{Total: 30 * time.Second}, nil)
		ctx := retry.With(t.Context(), budget)
		c.http.Transport = slowly(time.Second)
		if _, err := c.Service(ctx); err == nil || !budget.Spent() {
			t.Fatalf("got %v, and the budget is not spent", err)
		}
		m := message{op: "client.Test", method: "GET", path: wire.PathService, anonymous: true}
		c.http.Transport = answering{}
		err = c.send(ctx, m, func(*http.Response, func()) error { return nil })
		if err != nil || budget.Spent() {
			t.Errorf("got %v; the budget is spent: %v", err, budget.Spent())
		}
	})
}

// answering answers every request.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{wire.HeaderProtocol: {"1"}}, Body: http.NoBody}, nil
}

// TestWhoeverWaitsForATokenCanGo has one request fetch a token: another that needs it too does not
// wait beyond its own deadline.
func TestWhoeverWaitsForATokenCanGo(t *testing.T) {
	asked, slow := make(chan struct{}), make(chan struct{})
	c, err := New(Options{
		Endpoint: "https://service",
		Token: func(context.Context, string) (string, error) {
			close(asked)
			<-slow
			return "", pfs.E("test.Token", "", pfs.Unauthenticated, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		_, err := c.Stat(context.Background(), "/f")
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	go func() {
		_, err := c.Stat(ctx, "/f")
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, pfs.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
	case <-time.After(time.Minute):
		t.Error("a request waits for a token beyond its deadline")
	}
	close(slow)
	if err := <-first; !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("got %v, want the error of Token", err)
	}
}
