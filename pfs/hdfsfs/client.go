package hdfsfs

import (
	"context"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// client makes the calls of one user.
type client struct {
	rpc    *rpc.Client
	leases *leases
}

// holder returns the holder of a valid ticket.
func (c *cluster) holder(ctx context.Context) (*krb.Client, error) {
	if err := c.affirm(ctx, "hdfsfs.dial", pfs.Unavailable); err != nil {
		return nil, err
	}
	return c.kerberos(), nil
}

// newClient returns the client of a user.
func (c *cluster) newClient(user string) *client {
	o := rpc.Options{Servers: c.nameNodes, User: user, Timeout: c.opts.Timeout}
	if k := c.opts.Kerberos; k != nil {
		o.User = "" // the principal: another name would be impersonated
		o.Service = k.Service
	}
	switch k := c.opts.Kerberos; {
	case k == nil:
	case k.TokenFile != "":
		o.Token = func() (*hdfsproto.Token, error) {
			t, err := k.token(c.opts.NameNodes)
			return &hdfsproto.Token{Identifier: t.Identifier, Password: t.Password, Kind: &t.Kind, Service: &t.Service}, err
		}
	default:
		o.Kerberos = c.holder
	}
	r := rpc.New(o)
	return &client{rpc: r, leases: &leases{rpc: r, held: map[string]int{}}}
}

func (c *client) close() {
	c.leases.close()
	c.rpc.Close()
}
