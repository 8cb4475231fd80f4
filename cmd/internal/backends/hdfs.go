package backends

import (
	"cmp"
	"context"
	"os"
	"os/user"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
)

const hdfsForm = "hdfs://NAMENODE[,NAMENODE]/DIR (hdfs:///DIR takes the NameNodes of HADOOP_CONF_DIR)"

// hdfsOptions are the options of HDFS, named as in hdfsfs.Options.
var hdfsOptions = []string{
	"conf-dir", // with core-site.xml and hdfs-site.xml; default HADOOP_CONF_DIR
	"user",     // to act as, if the cluster trusts names; default HADOOP_USER_NAME or the system's
	"principal", "keytab", "krb5-conf", "token-file", "namenode-principal", "data-transfer-protection",
	"block-size", "part-size", "replication", "timeout", "datanode-hostname", "hedged-reads",
}

func prepareHDFS(r *request) (opener, error) {
	dir, err := r.confDir()
	if err != nil {
		return nil, err
	}
	o, err := hdfsfs.ParseURL(r.url, dir)
	if err != nil {
		return nil, err
	}
	o.BlockSize, o.PartSize, o.Replication = r.size("block-size"), r.size("part-size"), r.number("replication")
	o.Timeout = r.duration("timeout")
	o.DatanodeHostname = r.boolean("datanode-hostname", o.DatanodeHostname)
	o.NoHedge = !r.boolean("hedged-reads", true)
	r.identity(&o)
	return func(ctx context.Context, by Caller) (Store, error) {
		o.Logger, o.Timeout = by.Logger, cmp.Or(o.Timeout, by.Timeout)
		fsys, err := hdfsfs.New(ctx, o)
		if err != nil {
			return Store{}, err
		}
		account := o.User
		if k := o.Kerberos; k != nil {
			account = cmp.Or(k.Principal, k.TokenFile)
		}
		return Store{FileSystem: fsys, Close: fsys.Close, Account: account}, nil
	}, nil
}

// confDir returns the directory of Hadoop's configuration, or "".
func (r *request) confDir() (string, error) {
	dir, from := r.file("conf-dir"), "option \"conf-dir\""
	if dir == "" {
		dir, from = os.Getenv("HADOOP_CONF_DIR"), "HADOOP_CONF_DIR"
	}
	if dir == "" {
		return "", nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", pfs.Errorf("backends.Check", "", pfs.Invalid, "%s: %s is not a directory that can be read", from, dir)
	}
	return dir, nil
}

// kerberosOptions are the options that require Kerberos.
var kerberosOptions = []string{"principal", "krb5-conf", "namenode-principal", "data-transfer-protection"}

// identity sets the user of the cluster, with Kerberos if the cluster requires it or a keytab is
// given.
func (r *request) identity(o *hdfsfs.Options) {
	if o.Kerberos == nil && r.options["keytab"] == "" && r.options["token-file"] == "" {
		for _, name := range kerberosOptions {
			if r.options[name] != "" {
				r.fail(name, "it belongs to Kerberos, which needs \"keytab\" too")
			}
		}
		o.User = cmp.Or(r.options["user"], os.Getenv("HADOOP_USER_NAME"), systemUser())
		return
	}
	for _, name := range []string{"principal", "keytab"} {
		switch token := r.options["token-file"] != ""; {
		case token && r.options[name] != "":
			r.fail(name, "the delegation token of \"token-file\" is used instead")
		case !token && r.options[name] == "":
			r.fail(name, "it is needed for Kerberos, unless there is a \"token-file\"")
		}
	}
	if r.options["user"] != "" {
		r.fail("user", "with Kerberos the user is that of the principal or the token")
	}
	k := &hdfsfs.Kerberos{Service: "nn/_HOST"}
	if o.Kerberos != nil {
		k.Service, k.Protection = cmp.Or(o.Kerberos.Service, k.Service), o.Kerberos.Protection
	}
	k.Principal, k.Keytab, k.TokenFile = r.options["principal"], r.file("keytab"), r.file("token-file")
	k.Config = cmp.Or(r.file("krb5-conf"), os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	k.Service = cmp.Or(r.options["namenode-principal"], k.Service)
	k.Protection = cmp.Or(r.options["data-transfer-protection"], k.Protection)
	o.Kerberos = k
}

// systemUser returns the name of the user that the program runs as, or "".
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
