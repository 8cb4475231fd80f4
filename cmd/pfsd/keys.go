package main

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// keyMethods are the methods by which users manage their public keys.
func (s *service) keyMethods() map[string]server.Extension {
	accounts := s.auth.Accounts()
	method := func(do func(ctx context.Context, user string, q wire.KeyRequest) ([]auth.Key, error)) func(context.Context, string, pfs.FileSystem, []byte, io.Writer) error {
		return func(ctx context.Context, user string, _ pfs.FileSystem, request []byte, w io.Writer) error {
			var q wire.KeyRequest
			if err := wire.Decode(request, &q); err != nil {
				return err
			}
			keys, err := do(ctx, user, q)
			if err != nil {
				return err
			}
			var reply wire.KeyReply
			for _, k := range keys {
				reply.Keys = append(reply.Keys, wire.Key(k))
			}
			_, err = w.Write(wire.Encode(reply))
			return err
		}
	}
	fields := func(request []byte) []any {
		var q wire.KeyRequest
		if err := wire.Decode(request, &q); err != nil {
			return nil
		}
		if q.Line != "" {
			q.Fingerprint = auth.KeyFingerprint(q.Line)
		}
		return []any{"key", q.Fingerprint}
	}
	return map[string]server.Extension{
		wire.CallKeyAdd: {Fields: fields, Serve: method(func(ctx context.Context, user string, q wire.KeyRequest) ([]auth.Key, error) {
			k, err := accounts.AddKey(ctx, user, q.Line)
			return []auth.Key{k}, err
		})},
		wire.CallKeyList: {Serve: method(func(_ context.Context, user string, _ wire.KeyRequest) ([]auth.Key, error) {
			return accounts.Keys(user)
		})},
		wire.CallKeyRemove: {Fields: fields, Serve: method(func(ctx context.Context, user string, q wire.KeyRequest) ([]auth.Key, error) {
			return nil, accounts.RemoveKey(ctx, user, q.Fingerprint)
		})},
	}
}
