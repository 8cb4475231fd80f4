package cephfs

import (
	"reflect"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestParseURL(t *testing.T) {
	for url, want := range map[string]Options{
		"cephfs://mon1/cephfs":                 {Monitors: []string{"mon1"}, FileSystem: "cephfs", Root: "/"},
		"cephfs://mon1:6789,mon2:6789/fs/a/b":  {Monitors: []string{"mon1:6789", "mon2:6789"}, FileSystem: "fs", Root: "/a/b"},
		"cephfs://[::1]:6789/fs/with%20space/": {Monitors: []string{"[::1]:6789"}, FileSystem: "fs", Root: "/with space"},
		"cephfs:///fs/a":                       {FileSystem: "fs", Root: "/a"},
		"cephfs://mon1":                        {Monitors: []string{"mon1"}, Root: "/"},
		"cephfs://mon1/fs/../../up":            {Monitors: []string{"mon1"}, FileSystem: "fs", Root: "/up"},
	} {
		if got, err := ParseURL(url); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseURL(%q) = %+v, %v, want %+v", url, got, err, want)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for _, url := range []string{
		"", "cephfs:", "hdfs://nn/fs", "cephfs://,/fs", "cephfs://mon1,/fs", "cephfs://mon1/fs?user=x",
		"cephfs://mon1/fs#frag", "cephfs://user@mon1/fs", "cephfs://mon1/%zz",
		"cephfs://mon1?user=x/fs",
	} {
		_, err := ParseURL(url)
		if err == nil {
			t.Errorf("ParseURL(%q) succeeded", url)
			continue
		}
		pfstest.WantKind(t, err, pfs.Invalid)
	}
}
