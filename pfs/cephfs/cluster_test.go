//go:build ceph

package cephfs

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// The name of a cluster does not depend on the addresses used.
func TestCluster(t *testing.T) {
	c := testbed.Ceph(t)
	var names []string
	for _, o := range []Options{
		{Monitors: []string{c.Monitors}, FileSystem: c.FileSystem, Keyring: c.Keyring},
		{Config: c.Conf, Keyring: c.Keyring},
	} {
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		name, err := s.(FS).Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names[0]) < 32 || names[0] != names[1] {
		t.Errorf("one cluster is called %q, want one name", names)
	}
}
