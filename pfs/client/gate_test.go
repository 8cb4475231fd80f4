package client

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// narrow answers after a second, returns its limits, and counts the requests in progress.
type narrow struct {
	limit          int
	now, most, all atomic.Int64
}

func (n *narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	n.all.Add(1)
	n.most.Store(max(n.most.Load(), n.now.Add(1)))
	defer n.now.Add(-1)
	time.Sleep(time.Second)
	h := http.Header{wire.HeaderProtocol: {"1"}}
	h.Set(wire.HeaderRequests, strconv.Itoa(n.limit))
	h.Set(wire.HeaderBatches, strconv.Itoa(n.limit))
	return &http.Response{StatusCode: http.StatusForbidden, Header: h, Body: http.NoBody}, nil
}

// TestClientStaysWithinItsShare checks that a client has at most as many requests in progress as
// the service allows.
func TestClientStaysWithinItsShare(t *testing.T) {
	const limit, parallel = 3, 10
	for name, do := range map[string]func(context.Context, *Client){
		"stat":  func(ctx context.Context, c *Client) { _, _ = c.Stat(ctx, "/f") },
		"batch": func(ctx context.Context, c *Client) { c.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/f"}}) },
		"read":  func(ctx context.Context, c *Client) { c.ReadBatch(ctx, []pfs.BatchFile{{Path: "/f"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Options{
					Endpoint: "https://service", Retry: retry.Never,
					Token: func(context.Context, string) (string, error) { return "token", nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				service := &narrow{limit: limit}
				c.http.Transport = service
				do(t.Context(), c)
				var work sync.WaitGroup
				for range parallel {
					work.Go(func() { do(t.Context(), c) })
				}
				work.Wait()
				if service.most.Load() != limit || service.all.Load() != parallel+1 {
					t.Errorf("%d of %d requests at work at one time, want %d", service.most.Load(), service.all.Load(), limit)
				}

				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				for range limit {
					work.Go(func() { do(t.Context(), c) })
				}
				synctest.Wait()
				began := time.Now()
				if do(ctx, c); time.Since(began) != time.Millisecond {
					t.Errorf("who waits for a turn goes after %v", time.Since(began))
				}
				work.Wait()
			})
		})
	}
}
