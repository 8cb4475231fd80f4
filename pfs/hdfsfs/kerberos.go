package hdfsfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/paddlecloud/pfs/pfs"
)

// tickets are those of the service.
type tickets struct {
	mu     sync.Mutex
	client *krb.Client // nil without Kerberos
	login  *krbLogin   // that is at work, nil if none is
}

// krbLogin is one look whether there is a valid ticket, for all who wait for it.
type krbLogin struct {
	done chan struct{} // closed at its end
	err  error
}

// kerberos returns what has the tickets; nil without Kerberos.
func (c *cluster) kerberos() *krb.Client {
	c.tickets.mu.Lock()
	defer c.tickets.mu.Unlock()
	return c.tickets.client
}

// login takes the first ticket. The library renews it before it ends.
func (c *cluster) login(ctx context.Context) error {
	if c.opts.Kerberos == nil {
		return nil
	}
	client, err := c.opts.Kerberos.client()
	if err != nil {
		return err
	}
	c.tickets.client = client
	return c.affirm(ctx, "hdfsfs.New", pfs.Unauthenticated)
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

// affirm sees to a valid ticket. If the KDC refuses one, the error has the Kind refused:
// once the store is in use that is Unavailable, since its users cannot log the service in.
// The library gives a KDC its own time, and each of several the same again.
func (c *cluster) affirm(ctx context.Context, op string, refused pfs.Kind) error {
	login := c.beginLogin()
	timer := time.NewTimer(c.opts.Timeout)
	defer timer.Stop()
	select {
	case <-login.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return &noAnswer{what: "Kerberos gave no ticket within " + c.opts.Timeout.String()}
	}
	if login.err == nil {
		return nil
	}
	var e krberror.Krberror
	if errors.As(login.err, &e) && e.RootCause == krberror.NetworkingError {
		refused = pfs.Unavailable
	}
	return pfs.Errorf(op, "", refused, "Kerberos gives %s no ticket: %w", c.opts.Kerberos.Principal, login.err)
}

// beginLogin returns the login that is at work, or begins one.
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
				fresh, err = c.logIn(client)
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

// logIn sees to a valid ticket of client. Where its key is refused, it was replaced, and
// the keytab may have the new one: then another client has the ticket.
func (c *cluster) logIn(client *krb.Client) (*krb.Client, error) {
	if client.AffirmLogin() == nil {
		return client, nil
	}
	err := client.Login() // its error can be told apart
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
	c.opts.Logger.Info("the keytab has another key than before", "keytab", c.opts.Kerberos.Keytab, "principal", c.opts.Kerberos.Principal)
	return fresh, nil
}

// noService is the error of a KDC that gives no ticket for a service, to who has one for the
// KDC that is good by the clock here. The library keeps of the KDC's reason the text alone.
func (c *cluster) noService(err error) error {
	for _, name := range []string{"KRB_AP_ERR_TKT_EXPIRED", "KRB_AP_ERR_TKT_NYV", "KRB_AP_ERR_SKEW"} {
		if strings.Contains(err.Error(), name) {
			err = fmt.Errorf("%w: the KDC's clock and the one here must be less than five minutes apart", err)
			break
		}
	}
	return pfs.Errorf("hdfsfs.web", "", pfs.Unavailable, "Kerberos gives %s no ticket: %w", c.opts.Kerberos.Principal, err)
}

// refused says what may be wrong with a ticket where a NameNode gave an answer and did
// not let the session in: the answer does not say why.
func (c *cluster) refused(s *session, err error) error {
	var late *noAnswer
	if c.opts.Kerberos == nil || !s.wasSent() || is(err, pfs.Canceled) || errors.As(err, &late) {
		return err
	}
	return pfs.Errorf("hdfsfs.dial", "", pfs.Unavailable, "%w: it takes the ticket of %s only if its clock, the KDC's and the one here "+
		"are less than five minutes apart, and its key is the one that the KDC has", err, c.opts.Kerberos.Principal)
}

// noTicket is the error of who comes to a NameNode that asks for a ticket without one.
func noTicket(op string) error {
	return pfs.Errorf(op, "", pfs.Unauthenticated, "the NameNode takes no calls without a ticket: where the cluster asks for Kerberos, a principal and a keytab must be given")
}

// authenticate completes the options of a client.
func (c *cluster) authenticate(ctx context.Context, o *hdfs.ClientOptions) error {
	if c.opts.Kerberos == nil {
		return nil
	}
	if err := c.affirm(ctx, "hdfsfs.dial", pfs.Unavailable); err != nil {
		return err
	}
	o.KerberosClient = c.kerberos()
	o.KerberosServicePrincipleName = c.opts.Kerberos.Service
	o.DataTransferProtection = c.opts.Kerberos.Protection
	return nil
}
