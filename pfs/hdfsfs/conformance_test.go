package hdfsfs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// small are blocks and parts of a few chunks, so that files have many of both.
const small = 1 << 20

func options(c *testbed.HDFSCluster, root string) Options {
	return Options{NameNodes: c.NameNodes, Root: root, User: c.Superuser, BlockSize: small}
}

// open returns a new file system.
func open(t testing.TB, o Options) *FS {
	t.Helper()
	f, err := New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// variant is a configuration that the conformance suite runs with.
type variant struct {
	name   string
	change func(o *Options)
	owner  string
	themes string // of the suite in which it differs from the first one; "" is all
}

var variants = []variant{
	{name: "defaults"},
	{name: "for another owner", owner: "alice", themes: "Stage Commit Mkdir Attribute Batch"},
	{name: "parts of several blocks", change: func(o *Options) { o.BlockSize = 64 << 10; o.PartSize = 1 << 20 },
		themes: "Read Stage Resume Commit"},
}

// new returns a file system over root.
func (v variant) new(t *testing.T, c *testbed.HDFSCluster, root string) pfs.FileSystem {
	o := options(c, root)
	if v.change != nil {
		v.change(&o)
	}
	f := open(t, o)
	if v.owner == "" {
		return f
	}
	given, err := f.WithOwner(pfs.Owner{Name: v.owner})
	must(t, err)
	return given
}

// skip ends a test of a theme in which the variant does not differ.
func (v variant) skip(t *testing.T) {
	theme := strings.Split(t.Name(), "/")[2] // of TestConformance/VARIANT/THEME/PROMISE
	if v.themes != "" && !slices.Contains(strings.Fields(v.themes), theme) {
		t.Skip("the same as in the first variant")
	}
}

func TestConformance(t *testing.T) {
	c := testbed.HDFS(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			names := 3000
			if v.themes != "" {
				testbed.Long(t)
				names = 100
			}
			conform(t, c, 0, names, func(t *testing.T, root string) pfs.FileSystem { v.skip(t); return v.new(t, c, root) })
		})
	}
}

// conform runs the suite over directories of a cluster.
func conform(t *testing.T, c *testbed.HDFSCluster, more pfstest.Gap, names int, fresh func(t *testing.T, root string) pfs.FileSystem) {
	pfstest.Run(t, pfstest.Options{
		New:    func(t *testing.T) pfs.FileSystem { return fresh(t, c.Scratch(t)) },
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return fresh(t, fsys.(*FS).opts.Root) },
		Gaps:   pfstest.NoSymlink | pfstest.NoHardLink | pfstest.NoMknod | pfstest.NoRandomWrite | pfstest.NoAllocate | pfstest.NoCopy | pfstest.NoColon | more,
		Names:  names, Parallel: true,
		Times:  time.Millisecond,
		Owners: []pfs.Owner{{Name: "alice"}, {Name: "bob"}}, Service: pfs.Owner{Name: c.Superuser},
	})
}

// clusterKind is a kind of clusters, with the options for it, and what it lacks.
type clusterKind struct {
	name    string
	start   func(t testing.TB) *testbed.HDFSCluster
	options func(t *testing.T, c *testbed.HDFSCluster, root string) Options
	gap     pfstest.Gap
}

func trusting(_ *testing.T, c *testbed.HDFSCluster, root string) Options { return options(c, root) }

var clusters = []clusterKind{
	{"one NameNode", testbed.HDFSAlone, trusting, 0},
	{"two NameNodes", testbed.HDFSPair, trusting, 0},
	{"Kerberos", testbed.HDFSSecure, protectedBy("authentication"), pfstest.NoImpersonate},
	{"Kerberos, integrity", testbed.HDFSSecure, protectedBy("integrity"), pfstest.NoImpersonate},
	{"Kerberos, privacy", testbed.HDFSSecure, protectedBy("privacy"), pfstest.NoImpersonate},
}

// protectedBy returns the options for a cluster with Kerberos whose calls and data transfer have the same protection.
func protectedBy(protection string) func(*testing.T, *testbed.HDFSCluster, string) Options {
	return func(t *testing.T, c *testbed.HDFSCluster, root string) Options {
		o := secureOptions(t, c, root)
		o.Kerberos.Protection = protection
		switch protection {
		case "integrity":
			o.NameNodes = []string{c.Integrity}
		case "privacy":
			o.NameNodes = []string{c.Privacy}
		}
		return o
	}
}

// TestConformanceOfClusters runs the suite on those that TestConformance does not use.
func TestConformanceOfClusters(t *testing.T) {
	testbed.Long(t)
	for _, k := range clusters[1:] {
		t.Run(k.name, func(t *testing.T) {
			c := k.start(t)
			conform(t, c, k.gap, 100, func(t *testing.T, root string) pfs.FileSystem { return open(t, k.options(t, c, root)) })
		})
	}
}
