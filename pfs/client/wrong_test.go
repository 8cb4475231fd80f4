package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// wrong answers calls with a message that no service should send.
type wrong struct{ reply any }

func (a wrong) RoundTrip(*http.Request) (*http.Response, error) {
	b := wire.Encode(a.reply)
	h := http.Header{wire.HeaderProtocol: {"1"}, "Content-Type": {wire.TypeMessage}}
	h.Set(wire.HeaderInfo, base64.StdEncoding.EncodeToString(wire.Encode(wire.Info{Size: -5})))
	return &http.Response{StatusCode: http.StatusOK, Header: h, ContentLength: int64(len(b)), Body: io.NopCloser(bytes.NewReader(b))}, nil
}

// TestWrongAnswers: a program ends neither with a panic nor never because a service has a bug.
func TestWrongAnswers(t *testing.T) {
	info := wire.Info{Name: "f", Size: -5}
	for name, tt := range map[string]struct {
		reply any
		kind  pfs.Kind
		do    func(context.Context, *Client) error
	}{
		"size": {wire.InfoReply{Info: info}, pfs.Invalid, func(ctx context.Context, c *Client) error {
			_, err := c.Stat(ctx, "/f")
			return err
		}},
		"size in a list": {wire.ListReply{Entries: []wire.Info{info}}, pfs.Invalid, func(ctx context.Context, c *Client) error {
			_, err := c.List(ctx, "/", pfs.ListOptions{})
			return err
		}},
		"size of a file that is read": {wire.Empty{}, pfs.Invalid, func(ctx context.Context, c *Client) error {
			_, err := c.Open(ctx, "/f")
			return err
		}},
		"same page": {wire.ListReply{Next: "x"}, pfs.Other, func(ctx context.Context, c *Client) error {
			_, err := c.List(ctx, "/", pfs.ListOptions{Token: "x"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(Options{
				Endpoint: "https://service", Retry: retry.Never,
				Token: func(context.Context, string) (string, error) { return "token", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			c.http.Transport = wrong{tt.reply}
			if err := tt.do(t.Context(), c); !errors.Is(err, tt.kind) {
				t.Errorf("%v, want %v", err, tt.kind)
			}
		})
	}
}
