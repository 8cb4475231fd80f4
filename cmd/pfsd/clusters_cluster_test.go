package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestHDFSNamedInTwoWays names one HDFS by its configuration and by a NameNode. Homes may not
// overlap between the two datacenters, but may be beside each other.
func TestHDFSNamedInTwoWays(t *testing.T) {
	c := testbed.HDFS(t)
	root := c.Scratch(t)
	host, port, err := net.SplitHostPort(c.NameNodes[0])
	if err != nil {
		t.Fatal(err)
	}
	if host == "127.0.0.1" {
		host = "localhost"
	}
	first := fmt.Sprintf("{store: 'hdfs:///', options: {conf-dir: %q, user: %q}, dir: %s/pfs}", c.ConfDir, c.Superuser, root)
	second := fmt.Sprintf("{store: 'hdfs://%s/', options: {user: %q}, dir: %s/other, mounts: {h: {path: %%s, access: everybody}}}",
		net.JoinHostPort(host, port), c.Superuser, root)
	testNamedInTwoWays(t, first, fmt.Sprintf(second, root+"/pfs/home"))
}

// TestHDFSNamedByItsAddresses is the same with two URLs without a common address, as of a NameNode
// with two networks, and without a web server: a block identifies the cluster.
func TestHDFSNamedByItsAddresses(t *testing.T) {
	c := testbed.HDFS(t)
	root := c.Scratch(t)
	writeFirst(t, c)
	other := relay.New(t, func() string { return c.NameNodes[0] }, func(int, []byte) bool { return true })
	const store = "{store: 'hdfs://%s/', options: {user: %q}, dir: %s%s}"
	first := fmt.Sprintf(store, c.NameNodes[0], c.Superuser, root, "/pfs")
	second := fmt.Sprintf(store, other.Address(), c.Superuser, root, "/other, mounts: {h: {path: "+root+"/pfs/home, access: everybody}}")
	testNamedInTwoWays(t, first, second)
}

// writeFirst writes a file that is the first in the order of names: the identity of a cluster is
// read from the first file that has a block.
func writeFirst(t *testing.T, c *testbed.HDFSCluster) {
	t.Helper()
	store, err := backends.Open(t.Context(), backends.Spec{
		URL:     "hdfs://" + c.NameNodes[0] + "/",
		Options: map[string]string{"user": c.Superuser},
	}, backends.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	name := pfs.Root.Join("!first-" + pfs.NewID())
	t.Cleanup(func() {
		if err := errors.Join(store.Remove(context.Background(), name), store.Close()); err != nil {
			t.Error(err)
		}
	})
	pfstest.WriteFile(t, store.FileSystem, name, []byte("content"))
}

// testNamedInTwoWays checks that a service with the two datacenters is refused.
func testNamedInTwoWays(t *testing.T, first, second string) {
	t.Helper()
	data := dataFor(t)
	file := filepath.Join(t.TempDir(), "pfsd.yaml")
	if err := os.WriteFile(file, []byte("datacenters:\n  dc1: "+first+"\n  dc4: "+second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const says = "overlap on their store"
	if got := run(t, "", "check", "--data", data, "--config", file); got.code != int(cliio.Partly) || !strings.Contains(got.stdout, says) {
		t.Errorf("check: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
