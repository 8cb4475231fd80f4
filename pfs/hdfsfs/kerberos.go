package hdfsfs

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// tickets are the Kerberos tickets of the service.
type tickets struct {
	mu     sync.Mutex
	client *krb.Client // nil without Kerberos
	login  *krbLogin   // the running login, or nil
}

// krbLogin is one check for a valid ticket, shared by all callers that wait for it.
type krbLogin struct {
	done chan struct{} // closed at the end
	err  error
}

// kerberos returns the client that holds the tickets; nil without Kerberos.
func (c *cluster) kerberos() *krb.Client {
	c.tickets.mu.Lock()
	defer c.tickets.mu.Unlock()
	return c.tickets.client
}

// login gets the first ticket. The library renews it before it expires.
func (c *cluster) login(ctx context.Context) error {
	if c.opts.Kerberos == nil || c.opts.Kerberos.TokenFile != "" {
		return nil
	}
	client, err := c.opts.Kerberos.client()
	if err != nil {
		return err
	}
	c.tickets.client = client
	return c.affirm(ctx, "hdfsfs.New", pfs.Unauthenticated)
}

// token reads the delegation token for these NameNodes.
func (k *Kerberos) token(nameNodes []string) (t hadooptoken.Token, err error) {
	const op = "hdfsfs.New"
	content, err := os.ReadFile(k.TokenFile)
	if err != nil {
		return t, pfs.Errorf(op, "", pfs.Invalid, "delegation token: %w", err)
	}
	all, err := hadooptoken.ParseFile(content)
	if err != nil {
		return t, pfs.Errorf(op, "", pfs.Invalid, "delegation token %s: %w", k.TokenFile, err)
	}
	all = slices.DeleteFunc(all, func(t hadooptoken.Token) bool { return t.Kind != hadooptoken.HDFS })
	for _, t := range all {
		if len(all) == 1 || slices.Contains(nameNodes, t.Service) {
			return t, nil
		}
	}
	return t, pfs.Errorf(op, "", pfs.Invalid, "%s has no delegation token of %s", k.TokenFile, strings.Join(nameNodes, ", "))
}

// client reads the configuration and the key.
func (k *Kerberos) client() (*krb.Client, error) {
	const op = "hdfsfs.New"
	conf, err := config.Load(k.Config)
	if err != nil {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "Kerberos configuration %s: %w", k.Config, err)
	}
	kt, err := keytab.Load(k.Keytab)
	if err != nil {
		if os.IsNotExist(err) || os.IsPermission(err) {
			return nil, pfs.Errorf(op, "", pfs.Invalid, "keytab: %w", err)
		}
		return nil, pfs.Errorf(op, "", pfs.Invalid, "keytab %s: %w", k.Keytab, err)
	}
	name, realm, ok := strings.Cut(k.Principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	return krb.NewWithKeytab(name, realm, kt, conf, krb.DisablePAFXFAST(true)), nil
}

// affirm makes sure that there is a valid ticket. If the KDC refuses one, the error has the
// Kind refused: Unavailable once the store is in use, since users cannot log the service in.
// affirm waits no longer than half of Options.Timeout, so that callers that wait for a connection learn about the KDC;
// the library's own timeout applies to each KDC.
func (c *cluster) affirm(ctx context.Context, op string, refused pfs.Kind) error {
	login := c.beginLogin()
	limit := c.opts.Timeout / 2
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-login.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return &noAnswer{"Kerberos issued no ticket within " + limit.String()}
	}
	if login.err == nil {
		return nil
	}
	var e krberror.Krberror
	if errors.As(login.err, &e) && e.RootCause == krberror.NetworkingError {
		refused = pfs.Unavailable
	}
	return pfs.E(op, "", refused, &rpc.TicketError{For: c.opts.Kerberos.Principal, Err: login.err})
}

// beginLogin returns the running login, or starts one.
func (c *cluster) beginLogin() *krbLogin {
	t := &c.tickets
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.login == nil {
		login, client := &krbLogin{done: make(chan struct{})}, t.client
		t.login = login
		go func() {
			fresh := client
			err := pfs.Guard("hdfsfs.login", "", func() (err error) {
				fresh, err = c.ensureTicket(client)
				return err
			})
			t.mu.Lock()
			defer t.mu.Unlock()
			t.client, t.login, login.err = fresh, nil, err
			close(login.done)
		}()
	}
	return t.login
}

// ensureTicket makes sure that client has a valid ticket. If the KDC refuses its key, ensureTicket reads the
// keytab again, which may have a new one, and returns a new client.
func (c *cluster) ensureTicket(client *krb.Client) (*krb.Client, error) {
	if client.AffirmLogin() == nil {
		return client, nil
	}
	err := client.Login() // AffirmLogin hides the cause
	var e krberror.Krberror
	if err == nil || errors.As(err, &e) && e.RootCause == krberror.NetworkingError {
		return client, err
	}
	fresh, readErr := c.opts.Kerberos.client()
	if readErr != nil {
		return client, err
	}
	if err := fresh.Login(); err != nil {
		return client, err
	}
	c.opts.Logger.Info("the keytab has a new key", "keytab", c.opts.Kerberos.Keytab, "principal", c.opts.Kerberos.Principal)
	return fresh, nil
}
