package kubernetes

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
)

// tokens lets a request pass for each token.
type tokens chan struct{}

func (c tokens) Wait(ctx context.Context) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passed tells the paths of requests.
type passed chan string

func (c passed) RoundTrip(r *http.Request) (*http.Response, error) {
	c <- r.URL.Path
	return httptest.NewRecorder().Result(), nil
}

// TestInTurn checks that the request of a user is not behind the many of another one.
func TestInTurn(t *testing.T) {
	const many = 50
	limiter, sent := make(tokens), make(passed)
	turns := &inTurn{RoundTripper: sent, queue: fair.New(1), limiter: limiter}
	send := func(ctx context.Context, path string) {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://kubernetes"+path, nil)
		_, err := turns.RoundTrip(r)
		if (err != nil) != (ctx.Err() != nil) {
			t.Errorf("%s: %v", path, err)
		}
	}
	waiting := func(n int) {
		for turns.queue.Waiting() != n {
			time.Sleep(time.Millisecond)
		}
	}
	const greedy, other = "/api/v1/namespaces/pfs-greedy-0/pods", "/api/v1/namespaces/pfs-other-0/pods"
	var work sync.WaitGroup
	defer work.Wait()
	for range many {
		work.Go(func() { send(t.Context(), greedy) })
	}
	waiting(many - 1) // one waits for a token
	work.Go(func() { send(t.Context(), other) })
	waiting(many)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { send(ctx, other); close(left) }()
	waiting(many + 1)
	cancel() // a request that gives up leaves the queue
	<-left
	at := 0
	for n := 1; n <= many+1; n++ {
		limiter <- struct{}{}
		if path := <-sent; path == other {
			at = n
		}
	}
	if at == 0 || at > 3 {
		t.Errorf("the request of the other user was number %d", at)
	}
}

// TestNoConnection tells a server that cannot be connected to in time from a caller who gave up.
func TestNoConnection(t *testing.T) {
	_, late := net.DialTimeout("tcp", "127.0.0.1:9", 1)
	kinds := map[error]pfs.Kind{late: pfs.Unavailable, context.DeadlineExceeded: pfs.Canceled, context.Canceled: pfs.Canceled}
	for err, want := range kinds {
		if got := pfs.KindOf(known(&url.Error{Op: "Get", URL: "https://kubernetes/", Err: err})); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
