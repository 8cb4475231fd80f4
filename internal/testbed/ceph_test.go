package testbed

import (
	"strings"
	"testing"
)

func TestCeph(t *testing.T) {
	c := Ceph(t)
	if got := c.Command(t, "mds", "stat"); !strings.Contains(got, "up:active") {
		t.Errorf("mds stat = %q, want an active MDS", got)
	}
}

func TestCephAloneHeals(t *testing.T) {
	Long(t)
	c := CephAlone(t)
	c.Kill(t, "mds")
	c.run(t, "heal", c.Dir)
	if got := c.Command(t, "mds", "stat"); !strings.Contains(got, "up:active") {
		t.Errorf("mds stat after heal = %q, want an active MDS", got)
	}
}
