package hdfsfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/types/known/emptypb"
)

// secureOptions returns the options for the superuser of a cluster with Kerberos.
func secureOptions(t *testing.T, c *testbed.HDFSCluster, root string) Options {
	t.Helper()
	o, err := ParseURL("hdfs://"+root, c.ConfDir)
	must(t, err)
	if o.Kerberos == nil {
		t.Fatal("the configuration does not enable Kerberos")
	}
	o.Kerberos.Principal, o.Kerberos.Keytab = "nn/localhost", filepath.Join(c.Keytabs, "nn.keytab")
	o.Kerberos.Config = c.KRB5Config
	o.BlockSize = small
	return o
}

// TestKerberos writes a file in parts, joins them, sets the owner, and reads.
func TestKerberos(t *testing.T) {
	c := testbed.HDFSSecure(t)
	f := open(t, secureOptions(t, c, c.Scratch(t)))
	alice, err := f.WithOwner(pfs.Owner{Name: "alice"})
	must(t, err)
	_, err = f.Impersonate(pfs.Owner{Name: "alice"})
	pfstest.WantKind(t, err, pfs.Unsupported)
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

	// Reads do not update access times on this cluster, but they can be set.
	at := time.UnixMilli(1_000_000_123)
	must(t, f.SetAttr(t.Context(), "/home/g", pfs.AttrAccessTime, pfs.Attrs{AccessTime: at}))
	can, err := f.Capabilities(t.Context(), pfs.Root)
	if got := pfstest.MustStat(t, f, "/home/g").AccessTime; err != nil || !can.Has(pfs.CanSetAccessTime) || !got.Equal(at) {
		t.Errorf("the access time is %v, want %v; capabilities %#x, %v", got, at, can, err)
	}
}

// TestProtections writes, appends and reads with each protection of calls and of data transfer.
func TestProtections(t *testing.T) {
	c := testbed.HDFSSecure(t)
	root := c.Scratch(t)
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		transferAll(t, open(t, protectedBy(protection)(t, c, root)), pfs.Path("/"+protection))
	}
}

// TestDelegationToken does the same with a delegation token of alice, which Hadoop's own client got, and no Kerberos.
func TestDelegationToken(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	file := filepath.Join(t.TempDir(), "token")
	c.Do(t, "kinit", "alice")
	c.Do(t, "fetchdt", file)
	root := c.Scratch(t)
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		o := protectedBy(protection)(t, c, root)
		*o.Kerberos = Kerberos{TokenFile: file, Protection: protection}
		f := open(t, o)
		name := pfs.Path("/" + protection)
		transferAll(t, f, name)
		if got := pfstest.MustStat(t, f, name).Owner; got != "alice" || f.user != "alice" {
			t.Errorf("the owner is %q, the user %q", got, f.user)
		}
		connectAgain(f)
		must(t, writeLocal(file+".wrong", spoiledToken(t, file)))
		o.Kerberos.TokenFile = file + ".wrong"
		_, err := New(t.Context(), o)
		pfstest.WantKind(t, err, pfs.Unavailable)
		t.Log(err)
		o.Kerberos.TokenFile = file + ".none"
		_, err = New(t.Context(), o)
		pfstest.WantKind(t, err, pfs.Invalid)
	}
}

// spoiledToken returns a file with another password.
func spoiledToken(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	all, err := hadooptoken.ParseFile(content)
	must(t, err)
	all[0].Password[0] ^= 1
	return hadooptoken.File(all)
}

// TestEncrypted does the same on a cluster with a key of its own.
func TestEncrypted(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSEncrypted(t)
	transferAll(t, open(t, options(c, c.Scratch(t))), "/f")
	f, _ := killWhileWritten(t, c, options(c, c.Scratch(t)))
	if key, err := f.encryptionKey(t.Context(), false); key == nil || err != nil {
		t.Errorf("the cluster has no key: %v", err)
	}
}

// transferAll writes a file in parts and a small one, appends, and reads.
func transferAll(t *testing.T, f *FS, name pfs.Path) {
	t.Helper()
	data := pfstest.Pattern(1, 2*small+99)
	pfstest.WriteFile(t, f, name, data)
	h := openFor(t, f, name, appending)
	appendAll(t, h, data[:70_000])
	must(t, h.Sync(t.Context()))
	pfstest.WantFile(t, f, name, append(data[:len(data):len(data)], data[:70_000]...))
	must(t, f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name + "-small", Data: data[:1000]}})[0])
	pfstest.WantFile(t, f, name+"-small", data[:1000])
}

// TestWrongKeytab logs in with a wrong key, without a keytab, and with an unknown protection.
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
	o.Kerberos.Protection = "secret"
	_, err = New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Invalid)
}

// TestTicketEnds uses the store after its first ticket has expired. It is unavailable only
// while the KDC is down.
func TestTicketEnds(t *testing.T) {
	c := testbed.HDFSSecure(t)
	root := c.Scratch(t)
	o := secureOptions(t, c, root)
	o.Kerberos.Config = shortTickets(t, c)
	f := open(t, o)
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	c.Kill(t, "kdc")
	err := listUntilError(t, f)
	pfstest.WantKind(t, err, pfs.Unavailable)
	c.Start(t, "kdc")
	for errors.Is(err, pfs.Unavailable) && wait(t.Context(), 50*time.Millisecond) == nil { // until the KDC listens
		_, err = f.List(t.Context(), pfs.Root, pfs.ListOptions{})
	}
	must(t, err)
	pfstest.WantNames(t, f, pfs.Root, "f")
	pfstest.WantFile(t, f, "/f", []byte("content"))
}

// TestTicketRenewed sends a file for longer than the lifetime of a ticket. All connections to the NameNode are new, need a valid
// ticket, and are encrypted.
func TestTicketRenewed(t *testing.T) {
	c := testbed.HDFSSecure(t)
	o := protectedBy("privacy")(t, c, c.Scratch(t))
	o.Kerberos.Config = shortTickets(t, c)
	o.Timeout = time.Minute
	f := open(t, o)
	data := pfstest.Pattern(1, 5*small)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	for off := 0; off < len(data); off += small {
		_, err := w.WriteAt(t.Context(), data[off:off+small], int64(off))
		must(t, err)
		must(t, wait(t.Context(), time.Second))
		connectAgain(f)
	}
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// shortTickets returns a Kerberos configuration with tickets that expire after two seconds.
func shortTickets(t *testing.T, c *testbed.HDFSCluster) (file string) {
	t.Helper()
	return ticketsOf(t, c, "2s")
}

// ticketsOf returns a Kerberos configuration with tickets of the given lifetime.
func ticketsOf(t *testing.T, c *testbed.HDFSCluster, life string) (file string) {
	t.Helper()
	conf, err := os.ReadFile(c.KRB5Config)
	must(t, err)
	file = filepath.Join(t.TempDir(), "krb5.conf")
	must(t, writeLocal(file, bytes.Replace(conf, []byte("[libdefaults]\n"), []byte("[libdefaults]\n ticket_lifetime = "+life+"\n"), 1)))
	return file
}

// connectAgain lets the next call connect to its NameNode, for which it needs a valid ticket.
func connectAgain(f *FS) { f.nameNodes.NoteFailed(f.opts.NameNodes[0]) }

// listUntilError lists the root, which has one entry, each time over a new connection, until the call fails.
func listUntilError(t *testing.T, f *FS) error {
	t.Helper()
	for ; ; must(t, wait(t.Context(), 50*time.Millisecond)) {
		connectAgain(f)
		page, err := f.List(t.Context(), pfs.Root, pfs.ListOptions{})
		if err != nil {
			return err
		}
		if len(page.Entries) != 1 {
			t.Fatalf("%d entries", len(page.Entries))
		}
	}
}

// TestClockTooFarOff logs in at a KDC that rejects the time of the request.
func TestClockTooFarOff(t *testing.T) {
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	address := kdc(t, errorcode.KRB_AP_ERR_SKEW)
	o.Kerberos.Config = filepath.Join(t.TempDir(), "krb5.conf")
	must(t, writeLocal(o.Kerberos.Config, []byte("[libdefaults]\n default_realm = PFS.TEST\n udp_preference_limit = 1\n"+
		"[realms]\n PFS.TEST = {\n  kdc = "+address+"\n }\n")))
	_, err := New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unauthenticated)
	if !strings.Contains(err.Error(), "the clocks of the KDC and of this machine") {
		t.Errorf("the error does not mention the clocks: %v", err)
	}
}

// kdc starts a KDC that answers every request with an error, and returns its address.
func kdc(t *testing.T, code int32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	refusal := messages.NewKRBError(types.NewPrincipalName(2, "krbtgt/PFS.TEST"), "PFS.TEST", code, "")
	body, err := refusal.Marshal()
	must(t, err)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var length [4]byte
			_, _ = io.ReadFull(conn, length[:])
			_, _ = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(length[:])))
			_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestNoTicket calls a cluster with Kerberos without a ticket. The error names what to configure.
func TestNoTicket(t *testing.T) {
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	o.Kerberos, o.User = nil, "alice"
	_, err := New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unauthenticated)
	if !strings.Contains(err.Error(), "keytab") {
		t.Errorf("the error does not say what to give: %v", err)
	}
}

// TestTicketRefused sends a NameNode a ticket for another service, which it cannot decrypt.
// Its answer does not name the cause, so the error lists the possible ones.
func TestTicketRefused(t *testing.T) {
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	o.Kerberos.Service = "dn/localhost"
	_, err := New(t.Context(), o)
	pfstest.WantKind(t, err, pfs.Unavailable)
	for _, want := range []string{"clock", "key", o.Kerberos.Principal} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
}

// TestClockMoves changes the KDC's clock while the store is used. Callers cannot log the
// service in, so the error is Unavailable.
func TestClockMoves(t *testing.T) {
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	o.Kerberos.Config = shortTickets(t, c)
	f := open(t, o)
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	c.Clock(t, "+2h")
	err := listUntilError(t, f)
	pfstest.WantKind(t, err, pfs.Unavailable)
	if !strings.Contains(err.Error(), "clock") {
		t.Errorf("the error does not mention the clock: %v", err)
	}
}

// TestClockMovesUnderTicket requests a service ticket from a KDC to which the ticket for the KDC
// is expired or not yet valid, although it is valid by the local clock.
func TestClockMovesUnderTicket(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	o.Kerberos.Config = ticketsOf(t, c, "10m")
	o.Timeout = time.Minute
	f := open(t, o)
	for _, offset := range []string{"+2h", "-2h"} {
		c.Clock(t, offset)
		// The client has no ticket for this name of the NameNode yet.
		other := rpc.New(rpc.Options{
			Servers: rpc.NewServers([]string{strings.Replace(c.NameNodes[0], "localhost", "127.0.0.1", 1)}),
			Timeout: o.Timeout, Service: o.Kerberos.Service, Kerberos: func(context.Context) (*krb.Client, error) { return f.kerberos(), nil },
		})
		defer other.Close()
		err := other.Call(t.Context(), "getServerDefaults", new(emptypb.Empty), new(emptypb.Empty), rpc.Idempotent)
		err = fail("test", pfs.Root, err)
		pfstest.WantKind(t, err, pfs.Unavailable)
		for _, want := range []string{"clock", f.opts.Kerberos.Principal} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not mention %q: %v", offset, want, err)
			}
		}
	}
}

// TestKeytabReplaced changes the key of a principal while the store is used, as administrators
// do. The store is unavailable until the keytab has the new key.
func TestKeytabReplaced(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	root := c.Scratch(t)
	service := open(t, secureOptions(t, c, root))
	o := secureOptions(t, c, root)
	o.Kerberos.Config = shortTickets(t, c)
	o.Kerberos.Principal = "rotated" + strings.ToLower(pfs.NewID())
	o.Kerberos.Keytab = filepath.Join(t.TempDir(), "keytab")
	kadmin(t, c, "addprinc -randkey "+o.Kerberos.Principal)
	kadmin(t, c, "ktadd -norandkey -k "+o.Kerberos.Keytab+" "+o.Kerberos.Principal)
	for name, mode := range map[pfs.Path]os.FileMode{"/": 0o755, "/theirs": 0o700} {
		must(t, service.Mkdir(t.Context(), name, mode))
		must(t, pfs.SetAttr(t.Context(), service, name, pfs.AttrMode, pfs.Attrs{Mode: mode}))
	}
	f := open(t, o)
	_, err := f.List(t.Context(), "/theirs", pfs.ListOptions{})
	pfstest.WantKind(t, err, pfs.Permission)

	must(t, os.Remove(o.Kerberos.Keytab)) // it is not read while the KDC issues tickets
	fresh := filepath.Join(t.TempDir(), "fresh")
	kadmin(t, c, "ktadd -k "+fresh+" "+o.Kerberos.Principal) // with a new key
	err = listUntilError(t, f)
	pfstest.WantKind(t, err, pfs.Unavailable)
	if !strings.Contains(err.Error(), o.Kerberos.Principal) {
		t.Errorf("the error does not name the principal: %v", err)
	}
	must(t, os.Rename(fresh, o.Kerberos.Keytab))
	pfstest.WantNames(t, f, pfs.Root, "theirs")
}

// kadmin runs a command of kadmin.
func kadmin(t *testing.T, c *testbed.HDFSCluster, command string) {
	t.Helper()
	cmd := exec.Command("kadmin.local", "-q", command)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+c.KRB5Config, "KRB5_KDC_PROFILE="+filepath.Join(filepath.Dir(c.KRB5Config), "kdc.conf"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestSilentKDC has a ticket expire while the KDC accepts connections and never answers. The
// store returns an error before the library's timeout.
func TestSilentKDC(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	o.Kerberos.Config = shortTickets(t, c)
	o.Timeout = 3 * time.Second
	f := open(t, o)
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	c.Pause(t, "kdc")
	t.Cleanup(func() { c.Resume(t, "kdc") })
	err := listUntilError(t, f)
	pfstest.WantKind(t, err, pfs.Unavailable)
	began := time.Now()
	_, err = f.List(t.Context(), pfs.Root, pfs.ListOptions{})
	pfstest.WantKind(t, err, pfs.Unavailable)
	if took := time.Since(began); took > 3*o.Timeout {
		t.Errorf("the answer came after %v, with a timeout of %v", took, o.Timeout)
	}
	c.Resume(t, "kdc")
	for errors.Is(err, pfs.Unavailable) {
		_, err = f.List(t.Context(), pfs.Root, pfs.ListOptions{})
	}
	must(t, err)
}
