package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// brief is the option for stores that will not answer; others have the time that a machine at its
// limit needs.
const brief = "timeout: 5s"

// checkStore runs the check with one datacenter and returns its line.
func checkStore(t *testing.T, store string, options ...string) (ok bool, line string) {
	t.Helper()
	config := "datacenters:\n  dc:\n    store: " + store + "\n    options:\n"
	if !slices.Contains(options, brief) {
		options = append(slices.Clone(options), "timeout: 1m")
	}
	for _, o := range options {
		config += "      " + o + "\n"
	}
	file := filepath.Join(t.TempDir(), "pfsd.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, "", "check", "--data", dataFor(t), "--config", file, "--timeout", "2m")
	for line := range strings.Lines(got.stdout) {
		if _, says, found := strings.Cut(line, "datacenter dc: "); found {
			ok := strings.HasPrefix(line, "ok")
			if want := map[bool]cliio.Code{true: cliio.Done, false: cliio.Partly}[ok]; got.code != int(want) {
				t.Errorf("code %d, want %d", got.code, want)
			}
			return ok, says
		}
	}
	t.Fatalf("no line about the datacenter (code %d):\n%s%s", got.code, got.stdout, got.stderr)
	return false, ""
}

func wantSays(t *testing.T, what string, ok bool, says string, wantOK bool, words ...string) {
	t.Helper()
	if ok != wantOK {
		t.Errorf("%s: ok %v, want %v: %s", what, ok, wantOK, says)
	}
	for _, word := range words {
		if !strings.Contains(says, word) {
			t.Errorf("%s: it does not say %q: %s", what, word, says)
		}
	}
}

// TestCheckHDFS checks the messages about a misconfigured real HDFS.
func TestCheckHDFS(t *testing.T) {
	c := testbed.HDFSAlone(t)
	conf := "conf-dir: " + c.ConfDir
	root := c.Scratch(t)
	ok, says := checkStore(t, "hdfs://"+root, conf)
	wantSays(t, "a good store", ok, says, true, "read back")
	ok, says = checkStore(t, "hdfs://"+root+"/missing", conf)
	wantSays(t, "no root", ok, says, false, root+"/missing", "not there")

	ordinary := "user: nobody-in-particular"
	ok, says = checkStore(t, "hdfs:///", conf, ordinary)
	wantSays(t, "the root of HDFS", ok, says, false, "writing a file", "permission denied", "the HDFS user nobody-in-particular may not write into / (",
		"drwxr-xr-x", "hdfs dfs -mkdir /pfs && hdfs dfs -chown nobody-in-particular /pfs")
	makeOnHDFS(t, c, root+"/theirs", "755")
	ok, says = checkStore(t, "hdfs://"+root+"/theirs", conf, ordinary)
	wantSays(t, "the directory of another", ok, says, false, "hdfs dfs -chown nobody-in-particular "+root+"/theirs")
	makeOnHDFS(t, c, root+"/theirs/.pfs-stage", "1777")
	ok, says = checkStore(t, "hdfs://"+root+"/theirs", conf, ordinary)
	wantSays(t, "the directory of another, with uploads", ok, says, false, "hdfs dfs -chown nobody-in-particular "+root+"/theirs")
	makeOnHDFS(t, c, root+"/theirs/closed", "700")
	ok, says = checkStore(t, "hdfs://"+root+"/theirs/closed/store", conf, ordinary)
	wantSays(t, "a directory that cannot be reached", ok, says, false, "nobody-in-particular may not reach the root directory "+root+"/theirs/closed/store")
	makeOnHDFS(t, c, root+"/staging", "777")
	makeOnHDFS(t, c, root+"/staging/.pfs-stage", "755")
	ok, says = checkStore(t, "hdfs://"+root+"/staging", conf, ordinary)
	wantSays(t, "uploads of another", ok, says, false, "hdfs dfs -chmod 1777 "+root+"/staging/.pfs-stage")
	ok, says = checkStore(t, "hdfs://"+root, conf, ordinary)
	wantSays(t, "no superuser", ok, says, false, "nobody-in-particular, as whom the service works", "superuser", "owners: service")
	for dir, want := range map[string]string{"": "staging theirs", "/theirs": ".pfs-stage closed", "/theirs/.pfs-stage": "", "/staging": ".pfs-stage", "/staging/.pfs-stage": ""} {
		if got := namesOnHDFS(t, c, root+dir); got != want {
			t.Errorf("the checks left %q in %s, want %q", got, root+dir, want)
		}
	}

	leave := c.SafeMode(t)
	ok, says = checkStore(t, "hdfs://"+root, conf)
	wantSays(t, "safe mode", ok, says, false, "safe mode")
	leave()
	for i := range 3 {
		c.Kill(t, fmt.Sprintf("dn%d", i+1))
	}
	ok, says = checkStore(t, "hdfs://"+root, conf)
	wantSays(t, "no DataNodes", ok, says, false, "writing a file")
}

// makeOnHDFS makes a directory as the superuser.
func makeOnHDFS(t *testing.T, c *testbed.HDFSCluster, dir, mode string) {
	t.Helper()
	webHDFS(t, c, http.MethodPut, dir, "MKDIRS&permission="+mode, nil)
}

// namesOnHDFS lists all entries of a directory, uploads included.
func namesOnHDFS(t *testing.T, c *testbed.HDFSCluster, dir string) string {
	t.Helper()
	var reply struct {
		FileStatuses struct{ FileStatus []struct{ PathSuffix string } }
	}
	webHDFS(t, c, http.MethodGet, dir, "LISTSTATUS", &reply)
	var names []string
	for _, s := range reply.FileStatuses.FileStatus {
		names = append(names, s.PathSuffix)
	}
	return strings.Join(names, " ")
}

func webHDFS(t *testing.T, c *testbed.HDFSCluster, method, dir, op string, reply any) {
	t.Helper()
	req, err := http.NewRequest(method, c.WebHDFS[0]+"/webhdfs/v1"+dir+"?user.name="+c.Superuser+"&op="+op, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s of %s: %s", op, dir, resp.Status)
	}
	if reply != nil {
		if err := json.NewDecoder(resp.Body).Decode(reply); err != nil {
			t.Fatal(err)
		}
	}
}

// A protection of data transfer that HDFS does not have is named.
func TestCheckHDFSProtection(t *testing.T) {
	keytab := filepath.Join(t.TempDir(), "keytab")
	ok, says := checkStore(t, "hdfs://127.0.0.1:1/", "principal: pfs@PFS.TEST", "keytab: "+keytab, "data-transfer-protection: secret")
	wantSays(t, "secret", ok, says, false, "data.transfer.protection", "secret", "privacy")
}

// silent listens, and never answers.
func silent(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// Addresses that never answer take the given time all together, not each.
func TestCheckEndsInTime(t *testing.T) {
	args := []string{"check", "--data", dataFor(t), "--timeout", "2s"}
	for i := range 3 {
		args = append(args, "--datacenter", fmt.Sprintf("dc%d=hdfs://%s,%s/", i, silent(t), silent(t)))
	}
	began := time.Now()
	got := run(t, "", args...)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := strings.Count(got.stdout, "no answer within"); got.code != int(cliio.Partly) || n != 3 {
		t.Errorf("code %d, %d stores without an answer, want %d and 3:\n%s", got.code, n, cliio.Partly, got.stdout)
	}
}

// TestCheckHDFSKerberos checks that the options for Kerberos reach a real cluster, and the messages
// about wrong ones.
func TestCheckHDFSKerberos(t *testing.T) {
	c := testbed.HDFSSecure(t)
	store := "hdfs://" + c.Scratch(t)
	common := []string{"conf-dir: " + c.ConfDir, "krb5-conf: " + c.KRB5Config, "principal: nn/localhost"}
	ok, says := checkStore(t, store, append(common, "keytab: "+filepath.Join(c.Keytabs, "nn.keytab"))...)
	wantSays(t, "a good store", ok, says, true, "read back")
	ok, says = checkStore(t, store, append(common, "keytab: "+filepath.Join(c.Keytabs, "alice.keytab"))...)
	wantSays(t, "a keytab of somebody else", ok, says, false, "Kerberos", "nn/localhost")
	ok, says = checkStore(t, store, append(common, "keytab: /no/such/keytab")...)
	wantSays(t, "no keytab", ok, says, false, "/no/such/keytab")
}
