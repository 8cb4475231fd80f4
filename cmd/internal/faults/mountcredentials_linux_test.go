package faults

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestMountCredentialsEnd lets the credentials of a store end that is mounted without a service. No file is ever missing and no listing
// short, and the mount goes on when the credentials are valid again.
func TestMountCredentialsEnd(t *testing.T) {
	testbed.Long(t)
	needMount(t)
	t.Run("Kerberos", func(t *testing.T) {
		c := testbed.HDFSSecure(t)
		url := fmt.Sprintf("hdfs://%s?conf-dir=%s&principal=nn/localhost&keytab=%s/nn.keytab&krb5-conf=%s&block-size=1048576",
			c.Scratch(t), c.ConfDir, c.Keytabs, shortTickets(t, c))
		credentialsEnd(t, url, 25*time.Second, // a connection to a NameNode ends after 20 s without a call
			func() { c.Kill(t, "kdc") }, func() { c.Start(t, "kdc") })
	})
	t.Run("CephX", func(t *testing.T) {
		needCeph(t)
		c := testbed.CephAlone(t)
		spec, _ := cephDir(t, c)
		const user = "client.mounted"
		for _, of := range []string{"auth_service_ticket_ttl", "auth_mon_ticket_ttl"} {
			c.Command(t, "config", "set", "global", of, "5")
			t.Cleanup(func() { c.Command(t, "config", "rm", "global", of) })
		}
		again := func(daemons ...string) {
			for _, daemon := range daemons {
				c.Kill(t, daemon)
				c.Start(t, daemon)
			}
		}
		again("mon")
		keyring := filepath.Join(t.TempDir(), "keyring")
		must(t, os.WriteFile(keyring, []byte(c.Command(t, "auth", "get-or-create", user, "mon", "allow r", "mds", "allow rw", "osd", "allow rw")), 0o600))
		t.Cleanup(func() { c.Command(t, "auth", "rm", user) })
		caps := filepath.Join(t.TempDir(), "caps")
		must(t, os.WriteFile(caps, []byte(c.Command(t, "auth", "export", user)), 0o600))
		credentialsEnd(t, spec.URL+"?user=mounted&keyring="+keyring, 10*time.Second,
			func() {
				c.Command(t, "auth", "rm", user)
				time.Sleep(10 * time.Second)
				again("mon", "osd", "mds") // they ask for tickets at the start of a connection only
			}, func() { c.Command(t, "auth", "import", "-i", caps) })
	})
}

// credentialsEnd mounts the store at url. From end to renew, the store accepts no new credentials. Those that the mount has already may
// be valid for some time: credentialsEnd uses the mount after each pause until it fails.
func credentialsEnd(t *testing.T, url string, pause time.Duration, end, renew func()) {
	const most = 4
	maker := newMount(t, nil, "--store", url, "--cache-size", "0")
	for n := range most + 1 {
		makeUsed(t, maker.dir, n, "")
	}
	m := newMount(t, nil, "--store", url+"&timeout=5s", "--cache-size", "0", "--retry-time", "1s")
	end()
	began, failed := time.Now(), false
	for n := 0; n < most && !failed; n++ {
		time.Sleep(pause)
		errs := reads(m.dir, n)
		maps.DeleteFunc(errs, func(_ string, err error) bool { return err == nil })
		for what, err := range errs {
			failed = true
			if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EACCES) {
				t.Errorf("%s: %v", what, err)
			}
		}
		t.Logf("%v after %v", errs, time.Since(began).Round(time.Second))
	}
	if !failed {
		t.Error("the credentials do not end")
	}
	renew()
	began = time.Now()
	for {
		errs := reads(m.dir, most)
		maps.Copy(errs, changes(m.dir, most, ""))
		maps.DeleteFunc(errs, func(_ string, err error) bool { return err == nil })
		if len(errs) == 0 {
			break
		}
		if time.Since(began) > 2*time.Minute {
			t.Errorf("%v later: %v", time.Since(began), errs)
			break
		}
		time.Sleep(time.Second)
	}
	t.Logf("all is well after %v", time.Since(began).Round(100*time.Millisecond))
}
