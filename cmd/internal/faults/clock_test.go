package faults

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestClock moves the clock of a real KDC while a service with short tickets runs. For the service
// this looks as if its own clock were wrong.
func TestClock(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	p := newPlace(t, "hdfs", backends.Spec{URL: "hdfs://" + c.Scratch(t), Options: map[string]string{"conf-dir": c.ConfDir,
		"principal": "nn/localhost", "keytab": c.Keytabs + "/nn.keytab", "krb5-conf": shortTickets(t, c)}}, nil)
	data := p.put("f", 3<<20)
	for _, offset := range []string{"+2h", "-2h"} {
		c.Clock(t, offset)
		ls := []string{"ls", p.home("")}
		code, out := 0, ""
		for until := time.Now().Add(inTime); code == 0 && time.Now().Before(until); { // until the current ticket and connection end
			time.Sleep(25 * time.Second) // connections end after 20 s without a call
			if code, out = p.run(p.command("", ls...)); code == 0 && out != "f\n" {
				t.Fatalf("paddlectl ls says %q", out)
			}
		}
		p.wantSaid(ls, code, out, 6, "clock")
		p.want(6, "clock", "du", p.home(""))
		p.want(0, "", "ls", "/pfs/local")
		check := exec.Command(filepath.Join(p.bin, "pfsd"), "check", "--data", p.data, "--config", p.serve[1])
		if code, out := p.run(check); code != 8 || !strings.Contains(out, "clock") || !strings.Contains(out, "datacenter local: ") {
			t.Errorf("pfsd check: exit %d, want 8 and something about the clock:\n%s", code, out)
		}
		c.Clock(t, "0")
		p.want(0, "f\n", ls...)
		pfstest.WantFile(t, p.direct, p.stored("f"), data)
	}
}

// shortTickets returns a Kerberos configuration with tickets that end after two seconds.
func shortTickets(t *testing.T, c *testbed.HDFSCluster) (file string) {
	conf, err := os.ReadFile(c.KRB5Config)
	must(t, err)
	file = filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(file, bytes.Replace(conf, []byte("[libdefaults]\n"), []byte("[libdefaults]\n ticket_lifetime = 2s\n"), 1), 0o600))
	return file
}
