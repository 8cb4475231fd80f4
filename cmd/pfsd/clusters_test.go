package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
)

// named is a store whose cluster calls itself something.
type named struct {
	pfs.FileSystem
	cluster string
}

func (n named) Cluster(context.Context) (string, error) { return n.cluster, nil }

// confOf returns a configuration of HDFS with one NameNode.
func confOf(t *testing.T, nameNode string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := "<configuration><property><name>fs.defaultFS</name><value>hdfs://" + nameNode + "</value></property></configuration>"
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStoresNamedInTwoWays checks overlaps that the URLs do not show: an open store reveals them by
// the ID of its cluster, or by the addresses of its servers if the other store is down.
func TestStoresNamedInTwoWays(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	byConf := backends.Spec{URL: "hdfs:///", Options: map[string]string{"conf-dir": confOf(t, "localhost:9000")}}
	mounts := []namespace.MappedDir{{Name: "h", Dir: "/pfs/home"}}
	for _, row := range []struct {
		name   string
		first  backends.Spec
		second string
		mounts []namespace.MappedDir
		ids    [2]string // of the clusters; "-" for a store that is away
		want   bool
	}{
		{name: "a configuration and a host", first: byConf, second: "hdfs://127.0.0.1:9000/", mounts: mounts, want: true},
		{name: "the first is away", first: byConf, second: "hdfs://127.0.0.1:9000/", mounts: mounts, ids: [2]string{"-", ""}, want: true},
		{name: "the first is away and the second says who it is", first: byConf, second: "hdfs://127.0.0.1:9000/", mounts: mounts, ids: [2]string{"-", "x"}, want: true},
		{name: "another port", first: byConf, second: "hdfs://127.0.0.1:9001/", mounts: mounts},
		{name: "another host", first: byConf, second: "hdfs://192.0.2.1:9000/", mounts: mounts},
		{name: "paths that do not meet", first: byConf, second: "hdfs://127.0.0.1:9000/"},
		{name: "two servers of one cluster", first: backends.Spec{URL: "hdfs://192.0.2.1/"}, second: "hdfs://192.0.2.2/", mounts: mounts, ids: [2]string{"x", "x"}, want: true},
		{name: "two clusters", first: backends.Spec{URL: "hdfs://192.0.2.1/"}, second: "hdfs://192.0.2.2/", mounts: mounts, ids: [2]string{"x", "y"}},
		{name: "two monitors", first: backends.Spec{URL: "cephfs://192.0.2.1/"}, second: "cephfs://192.0.2.2/fs", mounts: mounts, ids: [2]string{"f", "f"}, want: true},
		{name: "two file systems", first: backends.Spec{URL: "cephfs://192.0.2.1/one"}, second: "cephfs://192.0.2.2/fs", mounts: mounts, ids: [2]string{"f", "f"}},
	} {
		dcs := []datacenter{
			{name: "a", store: row.first, dir: "/pfs"},
			{name: "b", store: backends.Spec{URL: row.second}, dir: "/other", mounts: row.mounts},
		}
		if err := checkApart(dcs); err != nil {
			t.Errorf("%s: the URLs tell it already: %v", row.name, err)
		}
		c, err := newClusters(dcs), error(nil)
		for i, dc := range dcs {
			if id := row.ids[i]; id != "-" && err == nil {
				err = c.admit(t.Context(), dc, named{memfs.New(memfs.Options{}), id})
			}
		}
		if row.want != errors.Is(err, pfs.Invalid) || row.want && !(strings.Contains(err.Error(), "/pfs/a/home") && strings.Contains(err.Error(), "/pfs/b/mnt/h")) || !row.want && err != nil {
			t.Errorf("%s: %v, want a refusal %v", row.name, err, row.want)
		}
	}
}

// All addresses of this machine are equal, and a name equals its address.
func TestAddressesOf(t *testing.T) {
	here := map[string]bool{"10.1.1.1": true}
	want := net.JoinHostPort("localhost", "8020")
	for _, server := range []string{"127.0.0.1:8020", "localhost:8020", "[::1]:8020", "10.1.1.1:8020", "0.0.0.0:8020"} {
		if got := addressesOf(t.Context(), []string{server}, here); len(got) != 1 || !got[want] {
			t.Errorf("%s is %v, want %s", server, got, want)
		}
	}
	if got := addressesOf(t.Context(), []string{"192.0.2.9:8020"}, here); !got["192.0.2.9:8020"] {
		t.Errorf("another machine is %v", got)
	}
}
