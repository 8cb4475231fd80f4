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
	return c.affirm()
}

// affirm sees to a valid ticket.
func (c *cluster) affirm() error {
	if c.krb.AffirmLogin() == nil {
		return nil
	}
	err := c.krb.Login() // its error can be told apart
	if err == nil {
		return nil
	}
	kind := pfs.Unauthenticated
	var e krberror.Krberror
	if errors.As(err, &e) && e.RootCause == krberror.NetworkingError {
		kind = pfs.Unavailable
	}
	return pfs.Errorf("hdfsfs.New", "", kind, "Kerberos gives %s no ticket: %w", c.opts.Kerberos.Principal, err)
}

// authenticate completes the options of a client.
func (c *cluster) authenticate(o *hdfs.ClientOptions) error {
	if c.krb == nil {
		return nil
	}
	if err := c.affirm(); err != nil {
		return err
	}
	o.KerberosClient = c.krb
	o.KerberosServicePrincipleName = c.opts.Kerberos.Service
	o.DataTransferProtection = c.opts.Kerberos.Protection
	return nil
}
