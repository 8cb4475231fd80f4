package client

import (
	"bytes"
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// Key is a public key by which the user logs in over SSH.
type Key = wire.Key

// AddKey adds a public key, a line as in a .pub file, to the user's account.
func (c *Client) AddKey(ctx context.Context, line string) (Key, error) {
	keys, err := c.keys(ctx, wire.CallKeyAdd, wire.KeyRequest{Line: line})
	if err != nil || len(keys) == 0 {
		return Key{}, err
	}
	return keys[0], nil
}

// Keys returns the public keys of the user's account.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	return c.keys(ctx, wire.CallKeyList, wire.KeyRequest{})
}

// RemoveKey removes a public key from the user's account.
func (c *Client) RemoveKey(ctx context.Context, fingerprint string) error {
	_, err := c.keys(ctx, wire.CallKeyRemove, wire.KeyRequest{Fingerprint: fingerprint})
	return err
}

func (c *Client) keys(ctx context.Context, method string, q wire.KeyRequest) ([]Key, error) {
	var b bytes.Buffer
	var reply wire.KeyReply
	err := c.Extension(ctx, method, wire.Encode(q), func() io.Writer {
		b.Reset()
		return &b
	})
	if err == nil {
		err = wire.Decode(b.Bytes(), &reply)
	}
	return reply.Keys, err
}
