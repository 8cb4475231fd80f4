package client

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// slowly answers Unavailable to every request after a time.
type slowly time.Duration

func (s slowly) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s))
	h := http.Header{wire.HeaderProtocol: {"1"}}
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: h, Body: http.NoBody}, nil
}

// TestPatience bounds the time for which a request is sent again.
func TestPatience(t *testing.T) {
	const timeout, patience = 15 * time.Second, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		c, err := New(Options{
			Endpoint: "https://service", Retries: 99, Patience: patience,
			Token:   func(context.Context, string) (string, error) { return "token", nil },
			OnRetry: func(waited time.Duration, _ error) { told = append(told, waited) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.http.Transport = slowly(timeout)
		began := time.Now()
		_, err = c.Stat(context.Background(), "/f")
		if took := time.Since(began); pfs.KindOf(err) != pfs.Unavailable || took > timeout+patience+timeout {
			t.Errorf("%v after %v, want Unavailable after %v", err, took, timeout+patience)
		}
		if len(told) != 2 || told[0] != 0 || told[1] < timeout {
			t.Errorf("told of retries after %v", told)
		}
	})
}
