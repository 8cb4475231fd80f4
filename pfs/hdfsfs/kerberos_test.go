package hdfsfs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// secureOptions are those of the superuser of a cluster with Kerberos.
func secureOptions(t *testing.T, c *testbed.HDFSCluster, root string) Options {
	t.Helper()
	o, err := Parse("hdfs://"+root, c.ConfDir)
	must(t, err)
	if o.Kerberos == nil {
		t.Fatal("the configuration does not ask for Kerberos")
	}
	o.Kerberos.Principal, o.Kerberos.Keytab = "nn/localhost", filepath.Join(c.Keytabs, "nn.keytab")
	o.Kerberos.Config = c.KRB5Config
	pem, err := os.ReadFile(c.CA)
	must(t, err)
	o.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	o.TLS.RootCAs.AppendCertsFromPEM(pem)
	o.BlockSize, o.Timeout = small, 5*time.Second
	return o
}

// TestKerberos writes in parts, joins over HTTPS, gives files to their user, and reads.
func TestKerberos(t *testing.T) {
	c := testbed.HDFSSecure(t)
	f := open(t, secureOptions(t, c, c.Scratch(t)))
	alice, err := f.As("alice")
	must(t, err)
	must(t, alice.Mkdir(t.Context(), "/home", 0o700))
	data := pfstest.Pattern(1, 3*small+99)
	info := pfstest.WriteFile(t, alice, "/home/f", data)
	if info.Owner != "alice" || pfstest.MustStat(t, f, "/home").Owner != "alice" {
		t.Errorf("owners are %q and %q, want alice", info.Owner, pfstest.MustStat(t, f, "/home").Owner)
	}
	pfstest.WantFile(t, alice, "/home/f", data)
	pfstest.WriteFile(t, f, "/home/own", data)
	must(t, f.Remove(t.Context(), "/home/own"))
	must(t, pfs.RenameExclusive(t.Context(), f, "/home/f", "/home/g"))
	pfstest.WantNames(t, f, "/home", "g")
}

// TestWrongKeytab is not let in, and says so.
func TestWrongKeytab(t *testing.T) {
	c := testbed.HDFSSecure(t)
	root := c.Scratch(t)
	o := secureOptions(t, c, root)
	o.Kerberos.Principal = "alice" // with the key of nn
	_, err := New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unauthenticated)
	o.Kerberos.Keytab = filepath.Join(t.TempDir(), "none")
	_, err = New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Invalid)
	o = secureOptions(t, c, root)
	o.Kerberos.Protection = "privacy"
	_, err = New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unsupported)
}
