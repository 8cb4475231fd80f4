package testbed

import (
	"context"
	"sync"
	"time"
)

// Network is the way to a store that is simulated: each request takes a while, a stream has a rate,
// and all streams together have another.
type Network struct {
	Latency       time.Duration
	Stream, Total float64 // bytes a second; 0 for no limit

	mu   sync.Mutex
	free time.Time // when the network is free
}

// SlowNetwork has 20 ms a request, 100 MB/s a stream and 500 MB/s in all.
func SlowNetwork() *Network {
	return &Network{Latency: 20 * time.Millisecond, Stream: 100e6, Total: 500e6}
}

// Wait waits as long as a request that returns n bytes takes, or returns the cause of ctx's end.
func (w *Network) Wait(ctx context.Context, n int) error {
	a, err := w.Request(ctx)
	const segment = 256 << 10
	for ; n > 0 && err == nil; n -= segment {
		err = a.Pass(ctx, min(n, segment))
	}
	return err
}

// Answer is the answer to one request.
type Answer struct {
	w  *Network
	at time.Time // when the next byte may come
}

// Request returns when the answer to a request begins.
func (w *Network) Request(ctx context.Context) (*Answer, error) {
	err := sleep(ctx, w.Latency)
	return &Answer{w, time.Now()}, err
}

// Pass returns when n more bytes of the answer have come.
func (a *Answer) Pass(ctx context.Context, n int) error {
	w := a.w
	if w.Stream == 0 {
		return nil
	}
	a.at = a.at.Add(time.Duration(float64(n) / w.Stream * 1e9))
	w.mu.Lock()
	if now := time.Now(); w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.Total * 1e9))
	if w.free.After(a.at) {
		a.at = w.free
	}
	w.mu.Unlock()
	if wait := time.Until(a.at); wait > time.Millisecond { // shorter ones are inaccurate, and made up for later
		return sleep(ctx, wait)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
