package server

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// fickle is an Authenticator whose users come from is.
type fickle struct {
	names
	is *auth.Identity
}

func (c fickle) Verify(context.Context, string) (auth.Identity, error) { return *c.is, nil }

// TestUploadsEndWithTheIdentity changes the store user of an account: its uploads are opened again
// as the new user.
func TestUploadsEndWithTheIdentity(t *testing.T) {
	before := auth.Identity{Name: "alice", Role: auth.User, HDFSUser: "alice", UID: 1000, GID: 1000}
	for name, change := range map[string]func(*auth.Identity){
		"role":      func(id *auth.Identity) { id.Role = auth.Publisher },
		"HDFS user": func(id *auth.Identity) { id.HDFSUser = "bob" },
		"uid":       func(id *auth.Identity) { id.UID++ },
		"gid":       func(id *auth.Identity) { id.GID++ },
	} {
		now := before
		own := memfs.New(memfs.Options{})
		s, _ := newServer(t, own, func(c *Config) {
			c.Auth = fickle{is: &now}
			c.View = func(id auth.Identity, _ string) pfs.FileSystem {
				if id == before {
					return own
				}
				return memfs.New(memfs.Options{})
			}
		})
		if w := do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"})); w.Code != 200 {
			t.Fatalf("create: HTTP %d", w.Code)
		}
		change(&now)
		if w := do(s, "PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("x"))); w.Code == 204 {
			t.Errorf("another %s: the upload of the old one goes on", name)
		}
		now = before
		if w := do(s, "PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("x"))); w.Code != 204 {
			t.Errorf("the old %s again: HTTP %d", name, w.Code)
		}
	}
}
