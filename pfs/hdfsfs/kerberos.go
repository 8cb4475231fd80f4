package hdfsfs

import (
	"errors"
	"os"
	"strings"

	"github.com/colinmarc/hdfs/v2"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/paddlecloud/pfs/pfs"
)

// login takes the first ticket. The library renews it before it ends.
func (c *cluster) login() error {
	const op = "hdfsfs.New"
	k := c.opts.Kerberos
	if k == nil {
		return nil
	}
	conf, err := config.Load(k.Config)
	if err != nil {
		return pfs.Errorf(op, "", pfs.Invalid, "Kerberos configuration %s: %w", k.Config, err)
	}
	kt, err := keytab.Load(k.Keytab)
	if err != nil {
		if os.IsNotExist(err) || os.IsPermission(err) {
			return pfs.Errorf(op, "", pfs.Invalid, "keytab: %w", err)
		}
		return pfs.Errorf(op, "", pfs.Invalid, "keytab %s: %w", k.Keytab, err)
	}
	name, realm, ok := strings.Cut(k.Principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	c.krb = krb.NewWithKeytab(name, realm, kt, conf, krb.DisablePAFXFAST(true))
	return c.affirm(op, pfs.Unauthenticated)
}

// affirm sees to a valid ticket. If the KDC refuses one, the error has the Kind refused:
// once the store is in use that is Unavailable, since its users cannot log the service in.
func (c *cluster) affirm(op string, refused pfs.Kind) error {
	if c.krb.AffirmLogin() == nil {
		return nil
	}
	err := c.krb.Login() // its error can be told apart
	if err == nil {
		return nil
	}
	var e krberror.Krberror
	if errors.As(err, &e) && e.RootCause == krberror.NetworkingError {
		refused = pfs.Unavailable
	}
	return pfs.Errorf(op, "", refused, "Kerberos gives %s no ticket: %w", c.opts.Kerberos.Principal, err)
}

// refused says what may be wrong with a ticket where a NameNode gave an answer and did
// not let the session in: the answer does not say why.
func (c *cluster) refused(s *session, err error) error {
	var late *noAnswer
	if c.krb == nil || !s.wasSent() || is(err, pfs.Canceled) || errors.As(err, &late) {
		return err
	}
	return pfs.Errorf("hdfsfs.dial", "", pfs.Unavailable, "%w: it takes the ticket of %s only if its clock, the KDC's and the one here "+
		"are less than five minutes apart, and its key is the one that the KDC has", err, c.opts.Kerberos.Principal)
}

// authenticate completes the options of a client.
func (c *cluster) authenticate(o *hdfs.ClientOptions) error {
	if c.krb == nil {
		return nil
	}
	if err := c.affirm("hdfsfs.dial", pfs.Unavailable); err != nil {
		return err
	}
	o.KerberosClient = c.krb
	o.KerberosServicePrincipleName = c.opts.Kerberos.Service
	o.DataTransferProtection = c.opts.Kerberos.Protection
	return nil
}
